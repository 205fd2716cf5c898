// Package proc starts commands, keeps their output and knows how they ended.
package proc

import (
	"fmt"
	"sort"
	"sync"
	"syscall"
	"time"

	"emergent.dev/guest/reaper"
)

// Table holds the commands that run, and for a while those that ended.
type Table struct {
	defaults  Defaults
	reaper    *reaper.Reaper
	spawner   *spawner
	spillDirs []string
	readers   openReaders
	// started holds one token after commands have been started.
	started chan struct{}

	mu sync.Mutex
	// closing is for good; emptying counts who is ending everything at the moment.
	closing  bool
	emptying int
	// adopted is laid over the default environment.
	adopted map[string]string
	all     map[*Process]struct{}
	// byPid holds the newest of each pid.
	byPid map[int]*Process
	// byTag has nil for a tag whose command is being started.
	byTag map[string]*Process
	// ended holds the remembered ones, longest ended first.
	ended []*Process
}

func NewTable(defaults Defaults, reaper *reaper.Reaper) (*Table, error) {
	spawner, err := newSpawner(defaults.Credential)
	if err != nil {
		return nil, err
	}
	return &Table{
		defaults:  defaults,
		reaper:    reaper,
		spawner:   spawner,
		spillDirs: spillDirs,
		started:   make(chan struct{}, 1),
		all:       map[*Process]struct{}{},
		byPid:     map[int]*Process{},
		byTag:     map[string]*Process{},
	}, nil
}

// Start starts a command. The reader gets every byte of its output, unless the command is detached, and must be
// closed.
func (t *Table) Start(spec Spec) (*Process, *Reader, error) {
	cmd, err := t.inherited().resolve(spec)
	if err != nil {
		return nil, nil, err
	}
	if err := t.admit(spec.Tag); err != nil {
		return nil, nil, err
	}
	ours, pid, exit, err := t.fork(cmd, spec)
	if err != nil {
		t.dismiss(spec.Tag)
		return nil, nil, err
	}
	process := &Process{
		Spec:     spec,
		Pid:      pid,
		log:      newOutputLog(t.spillDirs),
		readers:  &t.readers,
		stdin:    newStdin(ours),
		terminal: ours.terminal,
		group:    processGroup{id: pid},
		started:  time.Now(),
		done:     make(chan struct{}),
		gone:     make(chan struct{}),
	}
	var reader *Reader
	if spec.Detached {
		reader = process.Read(0)
	} else {
		reader = process.readHolding()
	}
	t.add(process)
	process.run(ours, exit, t.reaper.Reaped, func() { t.finished(process) })
	return process, reader, nil
}

func (t *Table) fork(cmd command, spec Spec) (pipes, int, <-chan syscall.WaitStatus, error) {
	ours, fork, err := t.spawner.prepare(cmd, spec)
	if err != nil {
		return pipes{}, 0, nil, err
	}
	pid, exit, err := t.reaper.Start(fork)
	if err != nil {
		ours.close()
		return pipes{}, 0, nil, err
	}
	return ours, pid, exit, nil
}

// admit reserves the tag.
func (t *Table) admit(tag string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.refusal(); err != nil {
		return err
	}
	if tag == "" {
		return nil
	}
	if _, taken := t.byTag[tag]; taken {
		return fmt.Errorf("%w: %q", ErrTagTaken, tag)
	}
	t.byTag[tag] = nil
	return nil
}

// refusal says why no command may start now. The caller holds the lock.
func (t *Table) refusal() error {
	switch {
	case t.closing:
		return ErrStopping
	case t.emptying > 0:
		return ErrEmptying
	default:
		return nil
	}
}

func (t *Table) dismiss(tag string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byTag, tag)
}

// add takes the pid from a remembered command that had it: its group is gone, or the pid would not be free.
func (t *Table) add(process *Process) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all[process] = struct{}{}
	t.byPid[process.Pid] = process
	if tag := process.Spec.Tag; tag != "" {
		t.byTag[tag] = process
	}
	if t.refusal() != nil {
		_ = process.Signal(syscall.SIGKILL)
	}
	select {
	case t.started <- struct{}{}:
	default:
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

// ByTag finds the command that bears the tag, running or remembered.
func (t *Table) ByTag(tag string) (*Process, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if process := t.byTag[tag]; process != nil {
		return process, nil
	}
	return nil, fmt.Errorf("%w: tag %q", ErrNoProcess, tag)
}

// Running lists the commands that have not ended, oldest first.
func (t *Table) Running() []*Process {
	var running []*Process
	for _, process := range t.Known() {
		if process.running() {
			running = append(running, process)
		}
	}
	return running
}

// Known lists the commands that run and those that are remembered, oldest first.
func (t *Table) Known() []*Process {
	t.mu.Lock()
	known := make([]*Process, 0, len(t.all))
	for process := range t.all {
		known = append(known, process)
	}
	t.mu.Unlock()
	sort.Slice(known, func(i, j int) bool { return known[i].started.Before(known[j].started) })
	return known
}
