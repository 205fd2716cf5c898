// Package proc starts commands, keeps their output and knows how they ended.
package proc

import (
	"fmt"
	"sync"
	"syscall"
	"time"

	"emergent.dev/guest/reaper"
)

// How long, how many and how much of what has ended is remembered.
const (
	keepFor   = 10 * time.Minute
	keepCount = 128
	keepBytes = 16 << 20
)

// Table holds the commands that run, and for a while those that ended.
type Table struct {
	defaults Defaults
	reaper   *reaper.Reaper
	spawner  *spawner

	mu      sync.Mutex
	byPid   map[int]*Process
	closing bool
	// ended holds the remembered ones, longest ended first.
	ended []*Process
}

func NewTable(defaults Defaults, reaper *reaper.Reaper) (*Table, error) {
	spawner, err := newSpawner()
	if err != nil {
		return nil, err
	}
	return &Table{defaults: defaults, reaper: reaper, spawner: spawner, byPid: map[int]*Process{}}, nil
}

// Start starts a command. The reader gets every byte of its output and must be closed.
func (t *Table) Start(spec Spec) (*Process, *Reader, error) {
	cmd, err := t.defaults.resolve(spec)
	if err != nil {
		return nil, nil, err
	}
	if err := t.admit(spec.Tag); err != nil {
		return nil, nil, err
	}
	ours, fork, err := t.spawner.prepare(cmd, spec.Stdin)
	if err != nil {
		return nil, nil, err
	}
	pid, exit, err := t.reaper.Start(fork)
	if err != nil {
		ours.close()
		return nil, nil, err
	}
	process := &Process{
		Spec:  spec,
		Pid:   pid,
		log:   newOutputLog(),
		stdin: newStdin(ours.stdin),
		done:  make(chan struct{}),
	}
	reader := process.readHolding()
	t.add(process)
	process.run(ours, exit, func() { t.finished(process) })
	return process, reader, nil
}

func (t *Table) admit(tag string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closing {
		return fmt.Errorf("%w: the agent is stopping", ErrNoResources)
	}
	if taken := t.withTag(tag); taken != nil && taken.running() {
		return fmt.Errorf("%w: %q, by process %d", ErrTagTaken, tag, taken.Pid)
	}
	return nil
}

// add replaces a remembered command of the same pid: its group is gone, or the pid would not be free.
func (t *Table) add(process *Process) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if old := t.byPid[process.Pid]; old != nil {
		t.forget(old)
	}
	t.byPid[process.Pid] = process
	if t.closing {
		_ = process.Signal(syscall.SIGKILL)
	}
}

// ByPid finds a command, running or remembered.
func (t *Table) ByPid(pid uint32) (*Process, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if process := t.byPid[int(pid)]; process != nil {
		return process, nil
	}
	return nil, fmt.Errorf("%w: pid %d", ErrNoProcess, pid)
}

// ByTag finds the command that bears the tag; of several, the one that runs or else the last to end.
func (t *Table) ByTag(tag string) (*Process, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if process := t.withTag(tag); process != nil {
		return process, nil
	}
	return nil, fmt.Errorf("%w: tag %q", ErrNoProcess, tag)
}

func (t *Table) withTag(tag string) *Process {
	if tag == "" {
		return nil
	}
	var found *Process
	for _, process := range t.byPid {
		if process.Spec.Tag != tag {
			continue
		}
		if process.running() {
			return process
		}
		if found == nil || process.ended.After(found.ended) {
			found = process
		}
	}
	return found
}

// Running lists the commands that have not ended.
func (t *Table) Running() []*Process {
	t.mu.Lock()
	defer t.mu.Unlock()
	var running []*Process
	for _, process := range t.byPid {
		if process.running() {
			running = append(running, process)
		}
	}
	return running
}

func (t *Table) finished(process *Process) {
	time.AfterFunc(keepFor, func() { t.expire(time.Now()) })
	t.mu.Lock()
	// Another command may bear the pid already: a pid is free once its leader is reaped and its group empty.
	if t.byPid[process.Pid] == process {
		t.ended = append(t.ended, process)
	}
	t.mu.Unlock()
	t.expire(time.Now())
}

// expire forgets what ended too long ago or is too much, except where descendants still run: those must stay
// within reach of signals.
func (t *Table) expire(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	count, bytes := 0, 0
	for i := len(t.ended) - 1; i >= 0; i-- {
		process := t.ended[i]
		count++
		bytes += process.log.size()
		over := count > keepCount || bytes > keepBytes || now.Sub(process.ended) >= keepFor
		if over && !process.groupAlive() {
			t.forget(process)
		}
	}
}

func (t *Table) forget(process *Process) {
	delete(t.byPid, process.Pid)
	for i, ended := range t.ended {
		if ended == process {
			t.ended = append(t.ended[:i], t.ended[i+1:]...)
			return
		}
	}
}
