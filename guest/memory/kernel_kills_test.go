package memory

import (
	"testing"
	"time"

	"emergent.dev/guest/proc"
)

func TestTheKernelsKillsAreTold(t *testing.T) {
	var counted uint64
	there := []proc.Resident{
		{Pid: 10, Group: 10, Name: "hog", Started: 1, Rss: 900},
		{Pid: 11, Group: 11, Name: "small", Started: 2, Rss: 10},
	}
	incidents := NewIncidents()
	watch := &KernelKills{
		Limit:     1000,
		Count:     func() (uint64, error) { return counted, nil },
		Largest:   func() ([]proc.Resident, error) { return there, nil },
		Incidents: incidents,
		TagOf:     func(group int) string { return map[int]string{10: "the-command"}[group] },
	}
	look := func() []Incident {
		t.Helper()
		if err := watch.look(time.Unix(5, 0)); err != nil {
			t.Fatal(err)
		}
		told, _ := incidents.After(0)
		return told
	}
	if told := look(); len(told) != 0 {
		t.Fatalf("told without a kill: %v", told)
	}
	// One ends by itself: nobody was killed.
	there = there[:1]
	if told := look(); len(told) != 0 {
		t.Fatalf("told without a kill: %v", told)
	}
	// Killed, and its number is in use again.
	counted, there = 1, []proc.Resident{{Pid: 10, Group: 10, Name: "next", Started: 9, Rss: 1}}
	told := look()
	if len(told) != 1 || told[0].Process != "hog" || told[0].Tag != "the-command" || told[0].Rss != 900 {
		t.Fatalf("told: %+v", told)
	}
	// One that nobody has seen.
	counted = 2
	if told = look(); len(told) != 2 || told[1].Process != "unknown" {
		t.Fatalf("told: %+v", told)
	}
}
