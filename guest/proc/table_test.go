package proc

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"
)

func finish(t *testing.T, table *Table, spec Spec) *Process {
	t.Helper()
	process, reader := start(t, table, spec)
	follow(t, reader)
	reader.Close()
	return process
}

func TestEndedCommandsAreRememberedForAWhile(t *testing.T) {
	table := newTable(t)
	process := finish(t, table, sh("echo kept; exit 4"))
	found, err := table.ByPid(uint32(process.Pid))
	if err != nil || found != process {
		t.Fatalf("%v, %v", found, err)
	}
	if len(table.Running()) != 0 {
		t.Error("an ended command is listed as running")
	}
	// The group may outlast the report of the end by the moment in which its zombies are collected.
	awaitGone(-process.Pid)
	table.expire(process.ended.Add(keepAttached.age - 1))
	if _, err := table.ByPid(uint32(process.Pid)); err != nil {
		t.Errorf("forgotten early: %v", err)
	}
	table.expire(process.ended.Add(keepAttached.age))
	if _, err := table.ByPid(uint32(process.Pid)); !errors.Is(err, ErrNoProcess) {
		t.Errorf("not forgotten: %v", err)
	}
}

func TestOnlySoManyEndedCommandsAreRemembered(t *testing.T) {
	table := newTable(t)
	for range keepAttached.count + 10 {
		process := finish(t, table, Spec{Cmd: "true"})
		awaitGone(-process.Pid)
	}
	table.expire(time.Now())
	if count := len(table.byPid); count > keepAttached.count {
		t.Errorf("%d remembered", count)
	}
}

func TestACommandWhoseDescendantsLiveIsNotForgotten(t *testing.T) {
	table := newTable(t)
	process := finish(t, table, sh("sleep 1000 >/dev/null 2>&1 &"))
	table.expire(process.ended.Add(2 * keepAttached.age))
	if _, err := table.ByPid(uint32(process.Pid)); err != nil {
		t.Error(err)
	}
}

func TestTags(t *testing.T) {
	table := newTable(t)
	spec := Spec{Cmd: "sleep", Args: []string{"1000"}, Tag: "job"}
	process, reader := start(t, table, spec)
	if _, _, err := table.Start(spec); !errors.Is(err, ErrTagTaken) {
		t.Errorf("second start: %v", err)
	}
	if found, err := table.ByTag("job"); err != nil || found != process {
		t.Errorf("%v, %v", found, err)
	}
	if err := process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	follow(t, reader)
	if _, _, err := table.Start(spec); !errors.Is(err, ErrTagTaken) {
		t.Errorf("start while the first is remembered: %v", err)
	}
	if found, err := table.ByTag("job"); err != nil || found != process {
		t.Errorf("%v, %v", found, err)
	}
	awaitGone(-process.Pid)
	table.expire(process.ended.Add(keepAttached.age))
	again, _ := start(t, table, spec)
	if found, err := table.ByTag("job"); err != nil || found != again {
		t.Errorf("%v, %v", found, err)
	}
	if _, err := table.ByTag("other"); !errors.Is(err, ErrNoProcess) {
		t.Errorf("unknown tag: %v", err)
	}
}

func TestOneTagIsGivenOnce(t *testing.T) {
	table := newTable(t)
	const count = 20
	results := make(chan error, count)
	for range count {
		go func() {
			_, reader, err := table.Start(Spec{Cmd: "true", Tag: "job"})
			if err == nil {
				reader.Close()
			}
			results <- err
		}()
	}
	started := 0
	for range count {
		if err := <-results; err == nil {
			started++
		} else if !errors.Is(err, ErrTagTaken) {
			t.Error(err)
		}
	}
	if started != 1 {
		t.Errorf("%d started", started)
	}
}

func TestDetachedCommandsAreRememberedLonger(t *testing.T) {
	table := newTable(t)
	var first *Process
	for i := range keepDetached.count + 1 {
		process := finish(t, table, Spec{Cmd: "true", Detached: true, Tag: fmt.Sprint(i)})
		awaitGone(-process.Pid)
		if i == 0 {
			first = process
			table.expire(process.ended.Add(1000 * time.Hour))
		}
		if _, err := table.ByTag("0"); i < keepDetached.count && (err != nil || len(table.Known()) != i+1) {
			t.Fatalf("after %d: %v, %d known", i, err, len(table.Known()))
		}
	}
	table.expire(time.Now())
	if _, err := table.ByTag("0"); !errors.Is(err, ErrNoProcess) {
		t.Errorf("not forgotten: %v", err)
	}
	if _, err := table.ByPid(uint32(first.Pid)); !errors.Is(err, ErrNoProcess) {
		t.Errorf("not forgotten: %v", err)
	}
}

func TestALogThatIsTooMuchIsForgottenAndSmallerOnesAreNot(t *testing.T) {
	table := newTable(t)
	table.spillDirs = []string{t.TempDir()}
	small := finish(t, table, Spec{Cmd: "echo", Args: []string{"kept"}})
	awaitGone(-small.Pid)
	var big []*Process
	for range keepAttached.disk/fileCapacity + 1 {
		process := finish(t, table, sh(countedOutput, fmt.Sprint(fileCapacity)))
		awaitGone(-process.Pid)
		big = append(big, process)
	}
	table.expire(time.Now())
	for _, process := range append(big[1:], small) {
		if _, err := table.ByPid(uint32(process.Pid)); err != nil {
			t.Error(err)
		}
	}
	if _, err := table.ByPid(uint32(big[0].Pid)); !errors.Is(err, ErrNoProcess) {
		t.Errorf("not forgotten: %v", err)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestForgottenCommandsLeaveNoDescriptors(t *testing.T) {
	table := newTable(t)
	table.spillDirs = []string{t.TempDir()}
	before := openFiles(t)
	var processes []*Process
	for range 5 {
		process := finish(t, table, sh(countedOutput, "2000000"))
		awaitGone(-process.Pid)
		processes = append(processes, process)
	}
	if open := openFiles(t); open != before+len(processes) {
		t.Errorf("%d more descriptors for %d logs on disk", open-before, len(processes))
	}
	// One is still being read when it is forgotten: that reader gets all of it.
	reader := processes[0].Read(0)
	table.expire(time.Now().Add(keepAttached.age))
	if r, _ := follow(t, reader); r.stdout.Len() != 2*megabyte || r.skipped != 0 {
		t.Errorf("%d bytes, %d skipped", r.stdout.Len(), r.skipped)
	}
	reader.Close()
	if open := openFiles(t); open != before {
		t.Errorf("%d descriptors before, %d after", before, open)
	}
}

func TestAReusedPidIsTheNewCommandsAlone(t *testing.T) {
	table := newTable(t)
	old := finish(t, table, Spec{Cmd: "true", Tag: "old"})
	old.group.awaitEmpty(children.Reaped)
	runs, _ := start(t, table, Spec{Cmd: "sleep", Args: []string{"1000"}, Tag: "new"})
	// As if the kernel had given the pid out again.
	old.group.mu.Lock()
	old.Pid, old.group.id = runs.Pid, runs.Pid
	old.group.mu.Unlock()
	if err := old.Signal(syscall.SIGKILL); !errors.Is(err, ErrNoProcess) {
		t.Errorf("signal to the old command: %v", err)
	}
	table.expire(time.Now().Add(keepAttached.age))
	if found, err := table.ByPid(uint32(runs.Pid)); err != nil || found != runs || !runs.running() {
		t.Errorf("%v, %v", found, err)
	}
}
