package proc

import "sync"

// Source tells which of a command's two outputs bytes came from.
type Source byte

const (
	Stdout Source = iota
	Stderr
)

// outputLog keeps the newest output of one command, in the order in which it arrived. A place in it is a count
// of bytes since the command's start, so a reader always knows how much it missed.
//
// It begins in memory. When it outgrows that it moves into a file; where no file can be had, or once one cannot
// be written any more, it stays in memory and drops its oldest output.
//
// One reader may hold the log: then nothing is dropped that the holder has not read, and append waits instead.
// A log that is forgotten gives up what it holds when its last reader is closed.
type outputLog struct {
	mu    sync.Mutex
	space *sync.Cond
	// The log holds the bytes [start, end): in file if there is one, else in memory.
	start, end uint64
	runs       runs
	memory     memoryRing
	file       *fileRing
	dirs       []string
	// noFile: a file was tried in vain. With file still set, that one only waits for its holder to read on.
	noFile bool

	held   bool
	heldAt uint64
	// changed is closed by the next append; nil while nobody waits for one.
	changed   chan struct{}
	readers   int
	forgotten bool
}

func newOutputLog(dirs []string) *outputLog {
	l := &outputLog{dirs: dirs}
	l.space = sync.NewCond(&l.mu)
	return l
}

// append adds data, at most memoryCapacity bytes, dropping the oldest output if need be.
func (l *outputLog) append(source Source, data []byte) {
	if len(data) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.tryAppend(source, data) {
	}
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// tryAppend is to be called again when it answers false: the holder has read on, or the file has failed.
func (l *outputLog) tryAppend(source Source, data []byte) bool {
	size := uint64(len(data))
	if l.abandoned() {
		l.end += size
		l.start = l.end
		return true
	}
	if l.file == nil && !l.noFile && l.end+size > l.start+memoryCapacity {
		l.moveToFile()
	}
	start := l.startAfter(source, size)
	if l.held && start > l.heldAt {
		l.space.Wait()
		return false
	}
	l.dropBefore(start)
	if l.file != nil && l.noFile {
		l.moveToMemory()
	}
	if l.file == nil {
		l.memory.grow(int(l.end-l.start+size), l.start, l.end)
		l.memory.write(l.end, data)
	} else if err := l.file.write(l.end, data); err != nil {
		// A full disk, say. What was written before can still be read.
		l.noFile = true
		return false
	}
	l.end += size
	l.runs.extend(source, l.end)
	return true
}

// startAfter says where the log would begin once size more bytes of source are in it.
func (l *outputLog) startAfter(source Source, size uint64) uint64 {
	capacity := uint64(memoryCapacity)
	if l.file != nil && !l.noFile {
		capacity = fileCapacity
	}
	start := l.start
	if total := l.end + size; total > start+capacity {
		start = total - capacity
	}
	return max(start, l.runs.startAfter(source))
}

func (l *outputLog) dropBefore(start uint64) {
	l.start = start
	l.runs.dropBefore(start)
}

func (l *outputLog) moveToFile() {
	file, err := newFileRing(l.dirs)
	if err != nil {
		l.noFile = true
		return
	}
	for place := l.start; place < l.end; {
		piece := l.memory.from(place, l.end)
		if err := file.write(place, piece); err != nil {
			file.close()
			l.noFile = true
			return
		}
		place += uint64(len(piece))
	}
	l.file = file
	l.memory = memoryRing{}
}

// moveToMemory takes what the log still holds, at most memoryCapacity, out of its file.
func (l *outputLog) moveToMemory() {
	kept := make([]byte, l.end-l.start)
	if err := l.file.read(l.start, kept); err != nil {
		l.dropBefore(l.end)
	} else if len(kept) > 0 {
		l.memory.grow(len(kept), l.start, l.start)
		l.memory.write(l.start, kept)
	}
	l.file.close()
	l.file = nil
}

// readAt copies output from place on into buffer: bytes of one source only. skipped says how much of what was
// asked for is gone; the bytes then begin that much later. With nothing to read, n is 0 and changed is closed
// when there may be.
func (l *outputLog) readAt(place uint64, buffer []byte) (source Source, n int, skipped uint64, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	asked := place
	place = max(place, l.start)
	if place < l.end {
		run := l.runs.at(place)
		source = run.source()
		buffer = buffer[:min(uint64(len(buffer)), run.end()-place)]
		if l.file == nil {
			l.memory.read(place, buffer)
			return source, len(buffer), place - asked, nil
		}
		if err := l.file.read(place, buffer); err == nil {
			return source, len(buffer), place - asked, nil
		}
		// What cannot be read is lost to everybody.
		l.dropBefore(l.end)
		place = l.end
		l.space.Broadcast()
	}
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return Stdout, 0, place - asked, l.changed
}

// extent is how much was written, and how much of that from the beginning on is dropped.
func (l *outputLog) extent() (end, dropped uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end, l.start
}

// footprint is what the log occupies.
func (l *outputLog) footprint() (memory, disk uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	memory = uint64(len(l.memory.bytes)) + l.runs.size()
	if l.file != nil {
		disk = l.file.used
	}
	return memory, disk
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

// open counts a reader in; each must be closed once.
func (l *outputLog) open() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.readers++
}

func (l *outputLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.readers--
	l.giveUp()
}

// forget tells the log that no reader will come any more.
func (l *outputLog) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forgotten = true
	l.giveUp()
}

// abandoned: nobody will read what a descendant of the command may still write.
func (l *outputLog) abandoned() bool {
	return l.forgotten && l.readers == 0
}

func (l *outputLog) giveUp() {
	if !l.abandoned() {
		return
	}
	l.dropBefore(l.end)
	l.memory = memoryRing{}
	if l.file != nil {
		l.file.close()
		l.file = nil
	}
}
