// Package reaper waits for children on behalf of the whole program.
//
// A PID 1 inherits every orphan and must reap it, and `wait4(-1)` does not choose: it also takes the exit
// status of children that somebody else waits for. So nobody else waits. All children are started through a
// Reaper, which collects every exit and hands those of its own children to their starters.
package reaper

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

type Reaper struct {
	mu sync.Mutex
	// starting counts forks under way: their pids are not known yet.
	starting int
	// early holds exits of unknown pids seen while a fork was under way: one of them may be the new child's.
	early   map[int]syscall.WaitStatus
	waiting map[int]chan<- syscall.WaitStatus
	reaped  chan struct{}
}

func New() *Reaper {
	return &Reaper{
		early:   map[int]syscall.WaitStatus{},
		waiting: map[int]chan<- syscall.WaitStatus{},
		reaped:  make(chan struct{}),
	}
}

// Run reaps until ctx ends. Exactly one Run may be active in a process.
func (r *Reaper) Run(ctx context.Context) {
	// One pending signal is enough: every signal makes reapAll collect all that is there.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGCHLD)
	defer signal.Stop(signals)
	for {
		r.reapAll()
		select {
		case <-signals:
		case <-ctx.Done():
			return
		}
	}
}

// Start runs fork, which returns a new child's pid, and answers with that pid and a channel that yields the
// child's exit once.
func (r *Reaper) Start(fork func() (int, error)) (int, <-chan syscall.WaitStatus, error) {
	r.mu.Lock()
	r.starting++
	r.mu.Unlock()

	pid, err := fork()

	r.mu.Lock()
	defer r.mu.Unlock()
	r.starting--
	exit := make(chan syscall.WaitStatus, 1)
	if err == nil {
		if status, ended := r.early[pid]; ended {
			exit <- status
		} else {
			r.waiting[pid] = exit
		}
	}
	// A child that ended before its fork returned was noted above, so what is left belongs to orphans. Pids
	// are given out in a circle: none comes back within the duration of a fork.
	if r.starting == 0 {
		clear(r.early)
	}
	return pid, exit, err
}

// Reaped is closed when the next child has been reaped, whoever's it was.
func (r *Reaper) Reaped() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reaped
}

func (r *Reaper) reapAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := false
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			break
		}
		found = true
		if exit, ours := r.waiting[pid]; ours {
			delete(r.waiting, pid)
			exit <- status
		} else if r.starting > 0 {
			r.early[pid] = status
		}
	}
	if found {
		close(r.reaped)
		r.reaped = make(chan struct{})
	}
}
