package memory

import (
	"context"
	"log"
	"time"

	"emergent.dev/guest/proc"
)

const (
	// kernelLook is how often the kernel's count is read.
	kernelLook = 200 * time.Millisecond
	// seenLargest bounds who is remembered from one look to the next.
	seenLargest = 16
)

// KernelKills tells of processes that the kernel has ended for their memory, before the watchdog came to it. The kernel
// tells how many, not which: whoever was among the largest and is gone.
type KernelKills struct {
	Limit     uint64
	Count     func() (uint64, error)
	Largest   func() ([]proc.Resident, error)
	Incidents *Incidents
	TagOf     func(group int) string

	counted uint64
	seen    []seenProcess
}

type seenProcess struct {
	proc.Resident
	tag string
}

// Run looks until the context is done.
func (k *KernelKills) Run(ctx context.Context) {
	// Those from before are nobody's whom this agent knows.
	k.counted, _ = k.Count()
	ticker := time.NewTicker(kernelLook)
	defer ticker.Stop()
	troubled := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := k.look(time.Now())
		if err != nil && !troubled {
			log.Printf("memory: kernel kills: %v", err)
		}
		troubled = err != nil
	}
}

func (k *KernelKills) look(now time.Time) error {
	counted, err := k.Count()
	if err != nil {
		return err
	}
	there, err := k.Largest()
	if err != nil {
		return err
	}
	if counted > k.counted {
		k.tell(now, counted-k.counted, there)
	}
	k.counted = counted
	k.seen = k.seen[:0]
	for _, one := range there[:min(len(there), seenLargest)] {
		k.seen = append(k.seen, seenProcess{Resident: one, tag: k.TagOf(one.Group)})
	}
	return nil
}

func (k *KernelKills) tell(now time.Time, kills uint64, there []proc.Resident) {
	for _, one := range k.seen {
		if kills == 0 {
			return
		}
		if isThere(one.Resident, there) {
			continue
		}
		kills--
		k.add(now, one)
	}
	// They came and went between two looks.
	for ; kills > 0; kills-- {
		k.add(now, seenProcess{Resident: proc.Resident{Name: "unknown"}})
	}
}

func (k *KernelKills) add(now time.Time, one seenProcess) {
	k.Incidents.Add(Incident{
		At: now, Process: one.Name, Pid: one.Pid, Tag: one.tag, Rss: one.Rss, Used: k.Limit, Limit: k.Limit,
	})
	log.Printf("memory: the kernel killed %q (pid %d), which held %d bytes or more", one.Name, one.Pid, one.Rss)
}

// isThere knows a process by its start as well: a number is used again.
func isThere(one proc.Resident, there []proc.Resident) bool {
	for _, other := range there {
		if other.Pid == one.Pid && other.Started == one.Started {
			return true
		}
	}
	return false
}
