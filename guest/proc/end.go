package proc

import (
	"fmt"
	"syscall"
	"time"
)

// End sends the signal to the whole group, and SIGKILL to what is left of it after grace. It returns when nobody is
// left, which may be long after the end of the command itself: its children may take no notice of what ended it.
func (p *Process) End(number syscall.Signal, grace time.Duration) error {
	if err := p.Signal(number); err != nil {
		return err
	}
	// One that is stopped would not hear. That nobody is left is what this is after.
	_ = p.Signal(syscall.SIGCONT)
	if p.goneWithin(grace) {
		return nil
	}
	_ = p.Signal(syscall.SIGKILL)
	if p.goneWithin(killLimit) {
		return nil
	}
	return fmt.Errorf("process group %d does not end", p.Pid)
}

// goneWithin looks once more when the time is over: members whose parent is not of the group end without the reaper's
// notice.
func (p *Process) goneWithin(limit time.Duration) bool {
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	select {
	case <-p.gone:
		return true
	case <-timeout.C:
		return !p.group.alive()
	}
}
