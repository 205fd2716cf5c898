package proc

import (
	"sync"
	"time"
)

// openReaders counts the readers of all commands.
type openReaders struct {
	mu    sync.Mutex
	count int
	// none is closed when the count falls to zero; nil while nobody waits for that.
	none chan struct{}
}

func (o *openReaders) add() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.count++
}

func (o *openReaders) remove() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.count--
	if o.count == 0 && o.none != nil {
		close(o.none)
		o.none = nil
	}
}

// awaitNone returns when no reader is open, at the latest after limit.
func (o *openReaders) awaitNone(limit time.Duration) {
	o.mu.Lock()
	if o.count == 0 {
		o.mu.Unlock()
		return
	}
	if o.none == nil {
		o.none = make(chan struct{})
	}
	none := o.none
	o.mu.Unlock()
	select {
	case <-none:
	case <-time.After(limit):
	}
}
