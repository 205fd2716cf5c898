// Package memory keeps the processes of a sandbox within its memory limit. Under gVisor nobody else does so well: the
// kernel outside sees one large process, and ends the whole sandbox.
package memory

import (
	"context"
	"log"
	"syscall"
	"time"

	"emergent.dev/guest/proc"
)

const (
	// closeLooks bounds how many processes are killed at one look.
	closeLooks = 64
	// patience is how long nothing must have come back before somebody else is killed as well: a process is gone
	// sooner than its memory.
	patience = 200 * time.Millisecond
	// holdLimit is how long the sandbox is held up at a time.
	holdLimit = 2 * time.Second
)

// System is what the watchdog sees and does.
type System interface {
	Usage() (uint64, error)
	Largest() ([]proc.Resident, error)
	// Hold stops all processes, also those that were missed before.
	Hold()
	// Release lets them go on as long as more agrees, and answers whether all do.
	Release(more func() bool) bool
	Kill(pid int) error
	// Deserted is true when there is nobody whose memory could grow.
	Deserted() bool
	Now() time.Time
	// Sleep is cut short when a command is started. It answers false when it is time to stop.
	Sleep(ctx context.Context, duration time.Duration) bool
}

// Watchdog kills the largest process as often as all together hold more than the limit.
type Watchdog struct {
	limit     uint64
	system    System
	incidents *Incidents
	// tagOf names the command that a process group belongs to.
	tagOf func(group int) string
	// troubled is true while the system cannot be looked at, which is logged once.
	troubled bool
}

func NewWatchdog(limit uint64, system System, incidents *Incidents, tagOf func(group int) string) *Watchdog {
	return &Watchdog{limit: limit, system: system, incidents: incidents, tagOf: tagOf}
}

// Run watches until the context is done.
func (w *Watchdog) Run(ctx context.Context) {
	var before uint64
	lookedAt := w.system.Now()
	for {
		used, err := w.system.Usage()
		now := w.system.Now()
		exceeded := err == nil && used > w.limit
		if exceeded {
			used, err = w.relieve(ctx, used)
			now = w.system.Now()
		}
		w.report(err)
		pause := steady
		switch {
		case exceeded:
			// Who is left may go on growing where the others were ended.
			pause = settling
		case err == nil:
			pause = nextLook(used, w.limit, growth(before, used, now.Sub(lookedAt)))
		}
		// Every look wakes the sandbox.
		if fastest < pause && pause < slowest && w.system.Deserted() {
			pause = slowest
		}
		before, lookedAt = used, now
		if !w.system.Sleep(ctx, pause) {
			return
		}
	}
}

func growth(before, used uint64, elapsed time.Duration) float64 {
	if used <= before || elapsed <= 0 {
		return 0
	}
	return float64(used-before) / elapsed.Seconds()
}

// relieve holds all processes while it kills, and until the memory of the killed has come back: a hundred that grow
// together would reach the engine's limit before they are listed. Those that grow again as they are let go are held
// and reduced again. It answers with what is used then.
func (w *Watchdog) relieve(ctx context.Context, used uint64) (uint64, error) {
	killed := map[int]bool{}
	for {
		w.system.Hold()
		var err error
		used, err = w.reduce(ctx, used, killed)
		helped := err == nil && used <= w.limit
		fits := func() bool {
			now, err := w.system.Usage()
			if err != nil || now <= w.limit {
				return true
			}
			used = now
			return false
		}
		if !helped {
			fits = func() bool { return true }
		}
		if w.system.Release(fits) {
			return used, err
		}
	}
}

// reduce kills until the rest fits. It gives up after a while: there may be memory that no process's end gives back.
func (w *Watchdog) reduce(ctx context.Context, used uint64, killed map[int]bool) (uint64, error) {
	began := w.system.Now()
	lowest, changed := used, began
	err := w.kill(used, killed)
	for err == nil && used > w.limit && w.system.Sleep(ctx, settling) {
		w.system.Hold()
		if used, err = w.system.Usage(); err != nil {
			break
		}
		now := w.system.Now()
		switch {
		case now.Sub(began) >= holdLimit:
			return used, nil
		case used < lowest:
			lowest, changed = used, now
		case used > w.limit && now.Sub(changed) >= patience:
			err = w.kill(used, killed)
			changed = now
		}
	}
	return used, err
}

// kill adds to those that are killed.
func (w *Watchdog) kill(used uint64, killed map[int]bool) error {
	there, err := w.system.Largest()
	if err != nil {
		return err
	}
	for _, one := range victims(used, w.limit, there, killed) {
		// Asked for before the kill: afterwards the command may be forgotten.
		tag := w.tagOf(one.Group)
		if w.system.Kill(one.Pid) != nil {
			// It is gone by itself.
			continue
		}
		killed[one.Pid] = true
		w.incidents.Add(Incident{
			At: w.system.Now(), Process: one.Name, Pid: one.Pid, Tag: tag, Rss: one.Rss, Used: used, Limit: w.limit,
		})
		log.Printf("memory: killed %q (pid %d), which held %d bytes; all held %d of %d",
			one.Name, one.Pid, one.Rss, used, w.limit)
	}
	return nil
}

func (w *Watchdog) report(err error) {
	if err != nil && !w.troubled {
		log.Printf("memory: %v", err)
	}
	w.troubled = err != nil
}

// Sandbox is the system that the agent runs in.
type Sandbox struct {
	// Started has something to read when a command was started.
	Started <-chan struct{}
	// Used tells what is used where the kernel is not the sandbox's own; nil: /proc/meminfo does.
	Used func() (uint64, error)
}

var _ System = Sandbox{}

func (s Sandbox) Usage() (uint64, error) {
	if s.Used != nil {
		return s.Used()
	}
	return usage()
}

func (Sandbox) Largest() ([]proc.Resident, error) { return proc.Largest(closeLooks) }
func (Sandbox) Hold()                             { proc.Hold() }
func (Sandbox) Release(more func() bool) bool     { return proc.Release(more) }
func (Sandbox) Kill(pid int) error                { return syscall.Kill(pid, syscall.SIGKILL) }
func (Sandbox) Deserted() bool                    { return proc.Deserted() }
func (Sandbox) Now() time.Time                    { return time.Now() }

func (s Sandbox) Sleep(ctx context.Context, duration time.Duration) bool {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	case <-s.Started:
		return true
	}
}
