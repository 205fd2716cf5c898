package proc

import (
	"context"
	"math"
	"sync"
	"time"
)

const readerBuffer = 64 << 10

// Sink takes what a Reader finds, in order. Data is valid only during the call.
type Sink interface {
	Output(source Source, data []byte) error
	// Skipped says how many bytes of output are lost to this reader at this place.
	Skipped(bytes uint64) error
	// Idle is called when nothing else was for as long as the reader was asked to be silent.
	Idle() error
}

// Reader follows a process's output from a place on. A holding reader gets every byte and keeps the command
// waiting when it is slow; any other misses what the log drops before it gets there.
type Reader struct {
	process *Process
	place   uint64
	holds   bool
	buffer  []byte
	closed  sync.Once
}

// Read begins after the first offset bytes of output, also where those are yet to come.
func (p *Process) Read(offset uint64) *Reader {
	p.log.open()
	p.readers.add()
	return &Reader{process: p, place: offset, buffer: make([]byte, readerBuffer)}
}

func (p *Process) readHolding() *Reader {
	reader := p.Read(0)
	reader.holds = true
	p.log.hold(0)
	return reader
}

// Close lets go of the command. The reader of a command must be closed, once it is no longer read and whoever it
// read for has been told how the command ended. Closing again does nothing.
func (r *Reader) Close() {
	r.closed.Do(func() {
		if r.holds {
			r.process.log.release()
		}
		r.process.log.close()
		r.process.readers.remove()
	})
}

// Follow passes output to sink until the process has ended and all of its output is passed on, and answers
// with its exit. It stops early when ctx ends or sink fails; the process is not touched by that.
func (r *Reader) Follow(ctx context.Context, silence time.Duration, sink Sink) (Exit, error) {
	idle := time.NewTimer(silence)
	defer idle.Stop()
	// Where the log ended when the process did: a background child that writes on must not prolong the stream.
	last := uint64(math.MaxUint64)
	for {
		if last == math.MaxUint64 && !r.process.running() {
			last, _ = r.process.log.extent()
		}
		if r.place >= last {
			return r.process.exit, nil
		}
		changed, err := r.passOn(sink)
		if err != nil {
			return Exit{}, err
		}
		if changed == nil {
			idle.Reset(silence)
			if ctx.Err() != nil {
				return Exit{}, context.Cause(ctx)
			}
			continue
		}
		select {
		case <-changed:
		case <-r.process.done:
		case <-ctx.Done():
			return Exit{}, context.Cause(ctx)
		case <-idle.C:
			if err := sink.Idle(); err != nil {
				return Exit{}, err
			}
			idle.Reset(silence)
		}
	}
}

// UpToNow passes on what the log holds at this moment. ended tells whether the process had ended by then; if so,
// exit is how.
func (r *Reader) UpToNow(ctx context.Context, sink Sink) (exit Exit, ended bool, err error) {
	if ended = !r.process.running(); ended {
		exit = r.process.exit
	}
	for last, _ := r.process.log.extent(); r.place < last; {
		changed, err := r.passOn(sink)
		if err != nil {
			return Exit{}, false, err
		}
		if ctx.Err() != nil {
			return Exit{}, false, context.Cause(ctx)
		}
		if changed != nil {
			break
		}
	}
	return exit, ended, nil
}

// passOn hands over the next piece of output. If there is none, it answers with the channel that tells of more.
func (r *Reader) passOn(sink Sink) (<-chan struct{}, error) {
	source, n, skipped, changed := r.process.log.readAt(r.place, r.buffer)
	if skipped > 0 {
		if err := sink.Skipped(skipped); err != nil {
			return nil, err
		}
		r.place += skipped
	}
	if n == 0 {
		return changed, nil
	}
	if err := sink.Output(source, r.buffer[:n]); err != nil {
		return nil, err
	}
	r.place += uint64(n)
	if r.holds {
		r.process.log.hold(r.place)
	}
	return nil, nil
}
