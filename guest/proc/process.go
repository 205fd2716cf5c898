package proc

import (
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Process is a command that was started. It is running until done is closed, which happens when its leader has
// exited and its output is in the log (or drainGrace is over); then exit is set. Its process group can live on.
type Process struct {
	Spec Spec
	Pid  int

	log      *outputLog
	readers  *openReaders
	stdin    *stdin
	terminal *terminal
	group    processGroup
	started  time.Time
	// left is set as soon as the leader has exited: from then on its pid may be another's.
	left atomic.Bool
	done chan struct{}
	// gone is closed when nobody of its group is left.
	gone  chan struct{}
	exit  Exit
	ended time.Time
}

// run attaches the agent's ends of the pipes and follows the process to its end, and its group to the last member.
// finished is called just before the end is told.
func (p *Process) run(ours pipes, exit <-chan syscall.WaitStatus, reaped func() <-chan struct{}, finished func()) {
	var draining sync.WaitGroup
	outputs := ours.outputs()
	draining.Add(len(outputs))
	for source, output := range outputs {
		go pump(source, output, p.log, draining.Done)
	}
	go func() {
		status := <-exit
		p.left.Store(true)
		if p.terminal == nil {
			p.stdin.close()
		}
		deadline := time.Now().Add(drainGrace)
		for _, output := range outputs {
			// Fails only if the pump has met end-of-file and closed it.
			_ = output.SetReadDeadline(deadline)
		}
		draining.Wait()
		p.terminal.close()
		p.exit = exitOf(status)
		p.exit.Background = p.group.alive()
		p.ended = time.Now()
		// Before the end is told: whoever hears of it may ask the table next.
		finished()
		close(p.done)
		p.group.awaitEmpty(reaped)
		close(p.gone)
	}()
}

// Signal reaches the whole process group, also descendants that outlived the leader, and all jobs of a terminal.
func (p *Process) Signal(number syscall.Signal) error {
	// Jobs first: the end of their shell would hide them.
	p.signalJobs(number)
	return p.group.signal(number)
}

// Info is what can be told about a process at one moment.
type Info struct {
	StartedAt time.Time
	// Nil while it runs.
	End *End
	// All that it has written so far, and how much of that, from the beginning on, is no longer kept.
	OutputBytes, DroppedBytes uint64
}

// End is when and how a process ended.
type End struct {
	At   time.Time
	Exit Exit
}

func (p *Process) Info() Info {
	info := Info{StartedAt: p.started}
	if !p.running() {
		info.End = &End{p.ended, p.exit}
	}
	info.OutputBytes, info.DroppedBytes = p.log.extent()
	return info
}

func (p *Process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}
