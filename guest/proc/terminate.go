package proc

import (
	"syscall"
	"time"
)

const (
	// killLimit bounds the wait for what was killed; a process can be stuck in the kernel.
	killLimit = 2 * time.Second
	// lastWords is what readers get to pass on how their commands ended.
	lastWords = time.Second
	// lookAgain is how often the sandbox is looked at while it empties: who was not started by the agent, as by an
	// engine's exec, ends without the reaper's notice.
	lookAgain = 50 * time.Millisecond
)

// Outcome counts processes.
type Outcome struct {
	// Told to end, killed because they did not, and still there in spite of that.
	Asked, Killed, Left int
}

// Terminate asks every process of the sandbox to end, kills what is left after grace, and refuses new commands. It
// returns as soon as all are gone and all readers have been closed.
func (t *Table) Terminate(grace time.Duration) (Outcome, error) {
	t.close()
	outcome, err := t.empty(grace)
	t.readers.awaitNone(lastWords)
	return outcome, err
}

// EndAll is Terminate for a sandbox that goes on: commands are refused only until it returns, and how those ended
// that it met can be asked from then on.
func (t *Table) EndAll(grace time.Duration) (Outcome, error) {
	if err := t.beginEmptying(); err != nil {
		return Outcome{}, err
	}
	defer t.endEmptying()
	outcome, err := t.empty(grace)
	t.awaitTold()
	t.readers.awaitNone(lastWords)
	return outcome, err
}

// empty leaves nobody in the sandbox that a signal can reach.
func (t *Table) empty(grace time.Duration) (Outcome, error) {
	there, err := population()
	outcome := Outcome{Asked: len(there)}
	t.signalAll(there, syscall.SIGTERM)
	// A shell at a terminal takes no notice of SIGTERM.
	t.hangUp()
	// One that is stopped would not hear.
	t.signalAll(there, syscall.SIGCONT)
	if err != nil {
		return outcome, err
	}
	there, err = t.awaitNobody(grace, nil)
	if err == nil && len(there) > 0 {
		outcome.Killed = len(there)
		there, err = t.awaitNobody(killLimit, func(there []inhabitant) { t.signalAll(there, syscall.SIGKILL) })
	}
	outcome.Left = len(there)
	return outcome, err
}

func (t *Table) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closing = true
}

func (t *Table) beginEmptying() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closing {
		return ErrStopping
	}
	t.emptying++
	return nil
}

func (t *Table) endEmptying() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.emptying--
}

// awaitTold waits until the ends of all commands are known. One that nothing can end is not waited for long.
func (t *Table) awaitTold() {
	timeout := time.NewTimer(drainGrace + lastWords)
	defer timeout.Stop()
	for _, process := range t.Known() {
		select {
		case <-process.done:
		case <-timeout.C:
			return
		}
	}
}

// signalAll reaches each process once: a whole group at a time where the agent knows it, because a group cannot fork
// away from a signal, and its shell must not go on when a child of it is hit.
func (t *Table) signalAll(there []inhabitant, number syscall.Signal) {
	reached := map[int]bool{}
	for _, process := range t.Known() {
		if process.Signal(number) == nil {
			reached[process.Pid] = true
		}
	}
	for _, one := range there {
		if !reached[one.group] {
			// One that is gone by now is what this is after.
			_ = syscall.Kill(one.pid, number)
		}
	}
}

// hangUp takes every terminal away. The signal alone is not enough: a shell that gets it just before it waits for
// the next line goes on waiting.
func (t *Table) hangUp() {
	for _, process := range t.Known() {
		if process.terminal != nil {
			// One that has ended needs no telling.
			_ = process.group.signal(syscall.SIGHUP)
			process.terminal.close()
		}
	}
}

// awaitNobody waits until no process is left and answers with those that are when the limit is over. Each look at
// them is followed by a call of treat: what forks while it is being killed is met again.
func (t *Table) awaitNobody(limit time.Duration, treat func([]inhabitant)) ([]inhabitant, error) {
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	for {
		reaped := t.reaper.Reaped()
		there, err := population()
		if err != nil || len(there) == 0 {
			return there, err
		}
		if treat != nil {
			treat(there)
		}
		select {
		case <-reaped:
		case <-time.After(lookAgain):
		case <-timeout.C:
			return there, nil
		}
	}
}
