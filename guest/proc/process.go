package proc

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
)

// Process is a command that was started. It is running until done is closed, which happens when its leader has
// exited and its output is in the log (or drainGrace is over); then exit is set. Its process group can live on.
type Process struct {
	Spec Spec
	Pid  int

	log   *outputLog
	stdin *stdin
	done  chan struct{}
	exit  Exit
	ended time.Time
}

// run attaches the agent's ends of the pipes and follows the process to its end; finished is called just before that is told.
func (p *Process) run(ours pipes, exit <-chan syscall.WaitStatus, finished func()) {
	var draining sync.WaitGroup
	draining.Add(2)
	go pump(Stdout, ours.stdout, p.log, draining.Done)
	go pump(Stderr, ours.stderr, p.log, draining.Done)
	go func() {
		status := <-exit
		p.stdin.close()
		deadline := time.Now().Add(drainGrace)
		for _, output := range []*os.File{ours.stdout, ours.stderr} {
			// Fails only if the pump has met end-of-file and closed it.
			_ = output.SetReadDeadline(deadline)
		}
		draining.Wait()
		p.exit = exitOf(status)
		p.ended = time.Now()
		// Before the end is told: whoever hears of it may ask the table next.
		finished()
		close(p.done)
	}()
}

// Signal reaches the whole process group: also descendants that outlived the leader.
func (p *Process) Signal(number syscall.Signal) error {
	err := syscall.Kill(-p.Pid, number)
	switch {
	case errors.Is(err, syscall.ESRCH):
		return fmt.Errorf("%w: %d has ended", ErrNoProcess, p.Pid)
	case errors.Is(err, syscall.EPERM):
		return fmt.Errorf("%w: signal %d: %w", ErrNotPermitted, p.Pid, err)
	case err != nil:
		return fmt.Errorf("signal %d: %w", p.Pid, err)
	}
	return nil
}

// groupAlive is true while any member of the process group exists.
func (p *Process) groupAlive() bool {
	return !errors.Is(syscall.Kill(-p.Pid, 0), syscall.ESRCH)
}

func (p *Process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}
