package proc

import (
	"errors"
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
	table.expire(process.ended.Add(keepFor - 1))
	if _, err := table.ByPid(uint32(process.Pid)); err != nil {
		t.Errorf("forgotten early: %v", err)
	}
	table.expire(process.ended.Add(keepFor))
	if _, err := table.ByPid(uint32(process.Pid)); !errors.Is(err, ErrNoProcess) {
		t.Errorf("not forgotten: %v", err)
	}
}

func TestOnlySoManyEndedCommandsAreRemembered(t *testing.T) {
	table := newTable(t)
	for range keepCount + 10 {
		process := finish(t, table, Spec{Cmd: "true"})
		awaitGone(-process.Pid)
	}
	table.expire(time.Now())
	if count := len(table.byPid); count > keepCount {
		t.Errorf("%d remembered", count)
	}
}

func TestACommandWhoseDescendantsLiveIsNotForgotten(t *testing.T) {
	table := newTable(t)
	process := finish(t, table, sh("sleep 1000 >/dev/null 2>&1 &"))
	table.expire(process.ended.Add(2 * keepFor))
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
	again, _ := start(t, table, spec)
	if found, err := table.ByTag("job"); err != nil || found != again {
		t.Errorf("%v, %v", found, err)
	}
	if _, err := table.ByTag("other"); !errors.Is(err, ErrNoProcess) {
		t.Errorf("unknown tag: %v", err)
	}
}

func TestStopAsksThenKills(t *testing.T) {
	table := newTable(t)
	polite, politeReader := start(t, table, sh("trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done"))
	stubborn, stubbornReader := start(t, table, sh("trap '' TERM; echo ready; while :; do sleep 1000; done"))
	firstLine(t, politeReader)
	firstLine(t, stubbornReader)
	politeReader.Close()
	stubbornReader.Close()
	table.Stop(200 * time.Millisecond)
	<-polite.done
	<-stubborn.done
	if polite.exit.Code != 5 || stubborn.exit.Code != 137 {
		t.Errorf("%+v, %+v", polite.exit, stubborn.exit)
	}
	if _, _, err := table.Start(Spec{Cmd: "true"}); !errors.Is(err, ErrNoResources) {
		t.Errorf("start after stop: %v", err)
	}
}
