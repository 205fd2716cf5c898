package memory

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"emergent.dev/guest/proc"
)

// fakeSystem is a sandbox whose time passes in sleeps only. Memory comes back some time after its process is gone.
type fakeSystem struct {
	t         *testing.T
	now       time.Time
	base      uint64
	there     []proc.Resident
	returning map[int]time.Time
	sizes     map[int]uint64
	slowness  time.Duration
	held      bool
	killed    []int
	failing   error
	sleeps    []time.Duration
	// released is called while processes are let go; nil: nothing happens.
	released func()
	// each is called before every sleep; false ends the watch.
	each func() bool
}

func (f *fakeSystem) Usage() (uint64, error) {
	used := f.base
	for _, one := range f.there {
		used += one.Rss
	}
	for pid, at := range f.returning {
		if f.now.Before(at) {
			used += f.sizes[pid]
		}
	}
	return used, f.failing
}

func (f *fakeSystem) Largest() ([]proc.Resident, error) { return slices.Clone(f.there), nil }

func (f *fakeSystem) Hold() { f.held = true }

func (f *fakeSystem) Release(more func() bool) bool {
	if f.released != nil {
		f.released()
	}
	f.held = !more()
	return !f.held
}

func (f *fakeSystem) Kill(pid int) error {
	if !f.held {
		f.t.Errorf("%d was killed while others could grow", pid)
	}
	for i, one := range f.there {
		if one.Pid == pid {
			f.there = slices.Delete(f.there, i, i+1)
			f.killed = append(f.killed, pid)
			f.sizes[pid] = one.Rss
			f.returning[pid] = f.now.Add(f.slowness)
			return nil
		}
	}
	return errors.New("no such process")
}

func (f *fakeSystem) Deserted() bool { return len(f.there) == 0 }
func (f *fakeSystem) Now() time.Time { return f.now }

func (f *fakeSystem) Sleep(ctx context.Context, duration time.Duration) bool {
	f.now = f.now.Add(duration)
	f.sleeps = append(f.sleeps, duration)
	return ctx.Err() == nil && f.each()
}

const mib = 1 << 20

func watch(t *testing.T, rounds int, change func(f *fakeSystem, round int)) (*fakeSystem, []Incident) {
	t.Helper()
	round := 0
	f := &fakeSystem{t: t, now: time.Unix(1000, 0), returning: map[int]time.Time{}, sizes: map[int]uint64{}}
	f.each = func() bool {
		if !f.held {
			round++
			change(f, round)
		}
		return round < rounds
	}
	change(f, 0)
	incidents := NewIncidents()
	tagOf := func(group int) string { return map[int]string{7: "seven"}[group] }
	NewWatchdog(512*mib, f, incidents, tagOf).Run(t.Context())
	if f.held {
		t.Error("the sandbox is still held")
	}
	told, _ := incidents.After(0)
	return f, told
}

func TestWhoExceedsDiesAloneThoughItsMemoryComesBackLate(t *testing.T) {
	f, told := watch(t, 5, func(f *fakeSystem, round int) {
		f.slowness = 150 * time.Millisecond
		if round == 0 {
			f.there = []proc.Resident{{Pid: 3, Name: "sleep", Rss: mib}, {Pid: 8, Group: 7, Name: "hog", Rss: 600 * mib}}
		}
	})
	if !slices.Equal(f.killed, []int{8}) {
		t.Errorf("killed %v", f.killed)
	}
	want := Incident{Number: 1, At: time.Unix(1000, 0), Process: "hog", Pid: 8, Tag: "seven", Rss: 600 * mib, Used: 601 * mib, Limit: 512 * mib}
	if len(told) != 1 || told[0] != want {
		t.Errorf("%+v", told)
	}
}

func TestTheNextOneDiesWhereTheFirstDidNotHelp(t *testing.T) {
	// Both hold the same pages, most of which stay.
	f, told := watch(t, 3, func(f *fakeSystem, round int) {
		if round == 0 {
			f.base = 500 * mib
			f.there = []proc.Resident{{Pid: 3, Rss: 10 * mib}, {Pid: 4, Rss: 11 * mib}, {Pid: 5, Rss: mib}}
			f.slowness = time.Hour
		}
		if len(f.killed) == 2 {
			f.base = 0
		}
	})
	if !slices.Equal(f.killed[:2], []int{4, 3}) || len(told) != len(f.killed) {
		t.Errorf("killed %v, told %d", f.killed, len(told))
	}
}

func TestWhoGrowsAsSoonAsItIsLetGoIsHeldAndReducedAgain(t *testing.T) {
	f, told := watch(t, 3, func(f *fakeSystem, round int) {
		if round > 0 {
			return
		}
		f.there = []proc.Resident{{Pid: 3, Rss: 200 * mib}, {Pid: 4, Rss: 210 * mib}, {Pid: 5, Rss: 220 * mib}}
		f.released = func() {
			if len(f.there) == 2 {
				f.there[0].Rss = 400 * mib
			}
		}
	})
	if !slices.Equal(f.killed, []int{5, 3}) || len(told) != 2 || told[1].Used != 610*mib {
		t.Errorf("killed %v, told %+v", f.killed, told)
	}
}

func TestMemoryThatNobodyHoldsDoesNotHoldThemUpForEver(t *testing.T) {
	f, told := watch(t, 3, func(f *fakeSystem, _ int) { f.base = 600 * mib })
	if len(told) != 0 || f.held {
		t.Errorf("%+v, held: %v", told, f.held)
	}
}

func TestIdleIsLookedAtOnceInAWhile(t *testing.T) {
	f, _ := watch(t, 20, func(f *fakeSystem, _ int) { f.there = []proc.Resident{{Pid: 3, Rss: 20 * mib}} })
	for _, pause := range f.sleeps[1:] {
		if pause < 100*time.Millisecond {
			t.Errorf("looked again after %v", pause)
		}
	}
}

func TestADesertedSandboxIsLeftAlone(t *testing.T) {
	f, _ := watch(t, 20, func(f *fakeSystem, _ int) { f.base = 300 * mib })
	for _, pause := range f.sleeps[1:] {
		if pause != slowest {
			t.Errorf("looked again after %v", pause)
		}
	}
}

func TestGrowthIsFollowedCloselyAndBelowTheLimitNobodyDies(t *testing.T) {
	f, told := watch(t, 40, func(f *fakeSystem, round int) {
		f.there = []proc.Resident{{Pid: 3, Rss: uint64(min(round, 46)) * 10 * mib}}
	})
	if len(told) != 0 || f.sleeps[len(f.sleeps)-1] != fastest {
		t.Errorf("%v, %v", told, f.sleeps)
	}
}

func TestAFailedLookIsTriedAgain(t *testing.T) {
	f, _ := watch(t, 5, func(f *fakeSystem, round int) {
		f.failing = nil
		if round < 3 {
			f.failing = errors.New("no meminfo")
		}
		f.there = []proc.Resident{{Pid: 3, Rss: 600 * mib}}
		if round > 3 {
			f.there = nil
		}
	})
	if !slices.Equal(f.killed, []int{3}) {
		t.Errorf("killed %v", f.killed)
	}
}

func TestOnlyTheNewestIncidentsAreKept(t *testing.T) {
	incidents := NewIncidents()
	_, more := incidents.After(0)
	for range maxKept + 10 {
		incidents.Add(Incident{})
	}
	select {
	case <-more:
	default:
		t.Error("nobody was told")
	}
	all, _ := incidents.After(0)
	if len(all) != maxKept || all[0].Number != 11 || all[maxKept-1].Number != maxKept+10 {
		t.Errorf("%d from %d", len(all), all[0].Number)
	}
	if rest, _ := incidents.After(maxKept + 9); len(rest) != 1 {
		t.Errorf("%v", rest)
	}
}
