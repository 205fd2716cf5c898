package proc

import "sort"

// maxRuns bounds the bookkeeping, to 4 MiB, when a command alternates between its outputs in small pieces.
const maxRuns = 1 << 19

// run is a stretch of output of one source: its end, times two, plus the source. It begins where the one before
// it ends.
type run uint64

func newRun(source Source, end uint64) run { return run(end<<1 | uint64(source)) }

func (r run) source() Source { return Source(r & 1) }
func (r run) end() uint64    { return uint64(r >> 1) }

// runs tells the source of every byte that a log holds.
type runs []run

// extend says that the bytes up to end, as far as they are new, came from source.
func (r *runs) extend(source Source, end uint64) {
	if last := len(*r) - 1; last >= 0 && (*r)[last].source() == source {
		(*r)[last] = newRun(source, end)
		return
	}
	*r = append(*r, newRun(source, end))
}

// startAfter says where the log must begin for one more stretch of source to find room.
func (r runs) startAfter(source Source) uint64 {
	if len(r) < maxRuns || r[len(r)-1].source() == source {
		return 0
	}
	return r[0].end()
}

func (r *runs) dropBefore(start uint64) {
	gone := 0
	for gone < len(*r) && (*r)[gone].end() <= start {
		gone++
	}
	*r = (*r)[gone:]
	if len(*r) == 0 {
		*r = nil
	}
}

// at finds the stretch that a byte lies in; there must be one.
func (r runs) at(place uint64) run {
	return r[sort.Search(len(r), func(i int) bool { return r[i].end() > place })]
}

func (r runs) size() uint64 { return 8 * uint64(len(r)) }
