package proc

import (
	"errors"
	"fmt"
	"sync"
	"syscall"
)

// processGroup is the group that a command leads. Its number is free for others once the group is empty, so a
// group that was seen empty is never signalled again.
type processGroup struct {
	id    int
	mu    sync.Mutex
	empty bool
	// killed is true once all were to be killed: who was being forked just then is killed when it is met.
	killed bool
}

func (g *processGroup) signal(number syscall.Signal) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.killed = g.killed || number == syscall.SIGKILL
	if g.killed && number == 0 {
		number = syscall.SIGKILL
	}
	err := syscall.ESRCH
	if !g.empty {
		err, _ = syscall.Kill(-g.id, number).(syscall.Errno)
	}
	switch err {
	case 0:
		return nil
	case syscall.ESRCH:
		g.empty = true
		return fmt.Errorf("%w: %d has ended", ErrNoProcess, g.id)
	case syscall.EPERM:
		return fmt.Errorf("%w: signal %d: %w", ErrNotPermitted, g.id, err)
	default:
		return fmt.Errorf("signal %d: %w", g.id, err)
	}
}

// alive is true while any member of the group exists.
func (g *processGroup) alive() bool {
	return !errors.Is(g.signal(0), ErrNoProcess)
}

// awaitEmpty returns when the group is seen empty. It needs no polling: members are children of the agent or
// become its children when orphaned, so the end of the last one is seen by the reaper.
func (g *processGroup) awaitEmpty(reaped func() <-chan struct{}) {
	for {
		next := reaped()
		if !g.alive() {
			return
		}
		<-next
	}
}
