package proc

import (
	"syscall"
	"time"
)

// Stop asks every process group to end, kills what is left after grace and refuses new commands. It returns as
// soon as all groups are empty.
func (t *Table) Stop(grace time.Duration) {
	groups := t.closeAndList()
	signalAll(groups, syscall.SIGTERM)
	if t.awaitEmpty(groups, grace) {
		return
	}
	signalAll(groups, syscall.SIGKILL)
	t.awaitEmpty(groups, grace)
}

func (t *Table) closeAndList() []*Process {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closing = true
	all := make([]*Process, 0, len(t.byPid))
	for _, process := range t.byPid {
		all = append(all, process)
	}
	return all
}

func signalAll(groups []*Process, number syscall.Signal) {
	for _, process := range groups {
		// A group that is already empty is what this is after.
		_ = process.Signal(number)
	}
}

// awaitEmpty needs no polling: members of a group are children of the agent or become its children when
// orphaned, so the last one's end is seen by the reaper.
func (t *Table) awaitEmpty(groups []*Process, limit time.Duration) bool {
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	for {
		reaped := t.reaper.Reaped()
		alive := false
		for _, process := range groups {
			alive = alive || process.groupAlive()
		}
		if !alive {
			return true
		}
		select {
		case <-reaped:
		case <-timeout.C:
			return false
		}
	}
}
