package memory

import (
	"sync"
	"time"
)

// maxKept bounds what is remembered for a host that is not listening.
const maxKept = 64

// Incident is a process that was killed.
type Incident struct {
	// From 1 on.
	Number uint64
	At     time.Time
	// What the process calls itself.
	Process string
	Pid     int
	// The name of the command that it belongs to; empty without one.
	Tag string
	// What the process held, what all held, and what they may.
	Rss, Used, Limit uint64
}

// Incidents are remembered, the newest of them, and told to whoever waits.
type Incidents struct {
	mu     sync.Mutex
	kept   []Incident
	newest uint64
	// more is closed, and replaced, when there is a new one.
	more chan struct{}
}

func NewIncidents() *Incidents {
	return &Incidents{more: make(chan struct{})}
}

// After answers with those that are remembered behind a number, and with what is closed when there are more.
func (i *Incidents) After(number uint64) ([]Incident, <-chan struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()
	var behind []Incident
	for _, one := range i.kept {
		if one.Number > number {
			behind = append(behind, one)
		}
	}
	return behind, i.more
}

// Add gives it the next number.
func (i *Incidents) Add(one Incident) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.newest++
	one.Number = i.newest
	i.kept = append(i.kept, one)
	if len(i.kept) > maxKept {
		i.kept = append([]Incident(nil), i.kept[1:]...)
	}
	close(i.more)
	i.more = make(chan struct{})
}
