package proc

const (
	memoryCapacity  = 1 << 20
	memoryFirstRing = 4 << 10
)

// memoryRing holds bytes in memory, each at its place modulo the ring's length.
type memoryRing struct {
	bytes []byte
}

// grow makes room for size bytes and keeps [start, end); the ring doubles, so that a quiet command costs little.
func (r *memoryRing) grow(size int, start, end uint64) {
	if size <= len(r.bytes) {
		return
	}
	length := max(len(r.bytes), memoryFirstRing)
	for length < size {
		length *= 2
	}
	bigger := memoryRing{make([]byte, length)}
	for place := start; place < end; {
		piece := r.from(place, end)
		bigger.write(place, piece)
		place += uint64(len(piece))
	}
	r.bytes = bigger.bytes
}

func (r *memoryRing) write(place uint64, data []byte) {
	n := copy(r.bytes[place%uint64(len(r.bytes)):], data)
	copy(r.bytes, data[n:])
}

func (r *memoryRing) read(place uint64, buffer []byte) {
	n := copy(buffer, r.bytes[place%uint64(len(r.bytes)):])
	copy(buffer[n:], r.bytes)
}

// from is what lies in one piece at place, before end.
func (r *memoryRing) from(place, end uint64) []byte {
	piece := r.bytes[place%uint64(len(r.bytes)):]
	return piece[:min(uint64(len(piece)), end-place)]
}
