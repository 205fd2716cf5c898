package proc

import (
	"sort"
	"sync"
)

// Source tells which of a command's two outputs bytes came from.
type Source byte

const (
	Stdout Source = iota
	Stderr
)

const (
	logCapacity = 1 << 20
	// Bounds the bookkeeping when a command alternates between its outputs byte by byte.
	logMaxSegments = 1 << 14
	logFirstRing   = 4 << 10
)

// outputLog keeps the newest output of one command, in the order in which it arrived. A place in it is a count
// of bytes since the command's start, so a reader always knows how much it missed.
//
// One reader may hold the log: then nothing is dropped that the holder has not read, and append waits instead.
type outputLog struct {
	mu    sync.Mutex
	space *sync.Cond
	// ring holds the bytes [start, end), each at its place modulo the ring's length.
	ring       []byte
	start, end uint64
	segments   []segment
	held       bool
	heldAt     uint64
	// changed is closed by the next append; nil while nobody waits for one.
	changed chan struct{}
}

// segment is a run of bytes of one source; it begins where the one before it ends.
type segment struct {
	source Source
	end    uint64
}

func newOutputLog() *outputLog {
	l := &outputLog{}
	l.space = sync.NewCond(&l.mu)
	return l
}

// append adds data, at most logCapacity bytes, dropping the oldest output if need be.
func (l *outputLog) append(source Source, data []byte) {
	if len(data) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	start := l.startAfter(source, len(data))
	for l.held && start > l.heldAt {
		l.space.Wait()
		start = l.startAfter(source, len(data))
	}
	l.dropBefore(start)
	l.grow(int(l.end - l.start + uint64(len(data))))
	at := l.end % uint64(len(l.ring))
	n := copy(l.ring[at:], data)
	copy(l.ring, data[n:])
	l.end += uint64(len(data))
	if last := len(l.segments) - 1; last >= 0 && l.segments[last].source == source {
		l.segments[last].end = l.end
	} else {
		l.segments = append(l.segments, segment{source, l.end})
	}
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// startAfter says where the log would begin once n more bytes of source are in it.
func (l *outputLog) startAfter(source Source, n int) uint64 {
	start := l.start
	if total := l.end + uint64(n); total > start+logCapacity {
		start = total - logCapacity
	}
	full := len(l.segments) == logMaxSegments && l.segments[logMaxSegments-1].source != source
	if full && l.segments[0].end > start {
		start = l.segments[0].end
	}
	return start
}

func (l *outputLog) dropBefore(start uint64) {
	l.start = start
	for len(l.segments) > 0 && l.segments[0].end <= start {
		l.segments = l.segments[1:]
	}
}

// grow makes room for size bytes; the ring doubles, so that a quiet command costs little.
func (l *outputLog) grow(size int) {
	if size <= len(l.ring) {
		return
	}
	length := max(len(l.ring), logFirstRing)
	for length < size {
		length *= 2
	}
	bigger := make([]byte, length)
	for place := l.start; place < l.end; {
		from := l.ring[place%uint64(len(l.ring)):]
		from = from[:min(uint64(len(from)), l.end-place)]
		place += uint64(copy(bigger[place%uint64(length):], from))
	}
	l.ring = bigger
}

// readAt copies output from place on into buffer: bytes of one source only. skipped says how much of what was
// asked for is gone; the bytes then begin that much later. With nothing to read, n is 0 and changed is closed
// when there is.
func (l *outputLog) readAt(place uint64, buffer []byte) (source Source, n int, skipped uint64, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if place < l.start {
		skipped = l.start - place
		place = l.start
	}
	if place >= l.end {
		if l.changed == nil {
			l.changed = make(chan struct{})
		}
		return Stdout, 0, skipped, l.changed
	}
	found := l.segments[sort.Search(len(l.segments), func(i int) bool { return l.segments[i].end > place })]
	buffer = buffer[:min(uint64(len(buffer)), found.end-place)]
	n = copy(buffer, l.ring[place%uint64(len(l.ring)):])
	n += copy(buffer[n:], l.ring)
	return found.source, n, skipped, nil
}

// size is what the log occupies in memory.
func (l *outputLog) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.ring)
}

func (l *outputLog) endPlace() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

// hold makes append wait rather than drop what lies at or after place; call it again to move on.
func (l *outputLog) hold(place uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = true
	l.heldAt = place
	l.space.Broadcast()
}

func (l *outputLog) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = false
	l.space.Broadcast()
}
