package proc

import (
	"errors"
	"syscall"
	"testing"
	"time"
)

// deaf starts a child that takes no notice of SIGTERM, which prints its pid when it does not.
const deaf = `(trap "" TERM; exec sh -c 'echo $$; exec sleep 1000') & wait`

func TestEndKillsWhoOutlivesTheLeader(t *testing.T) {
	process, reader := start(t, newTable(t), sh(deaf))
	child := firstPid(t, reader)
	if err := process.End(syscall.SIGTERM, 100*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(child, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the child: %v", err)
	}
	if exit := process.Info().End; exit == nil || exit.Exit.Status != "signal: SIGTERM" {
		t.Errorf("%+v", exit)
	}
}

func TestEndWaitsNoLongerThanNeeded(t *testing.T) {
	process, _ := start(t, newTable(t), sh("sleep 1000 & sleep 1000"))
	if err := process.End(syscall.SIGTERM, time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := process.End(syscall.SIGTERM, time.Hour); !errors.Is(err, ErrNoProcess) {
		t.Errorf("%v", err)
	}
}

func TestEndReachesWhoIsStopped(t *testing.T) {
	process, reader := start(t, newTable(t), sh("echo ready; exec sleep 1000"))
	firstLine(t, reader)
	if err := process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := process.End(syscall.SIGTERM, time.Hour); err != nil {
		t.Fatal(err)
	}
}

func TestTheEndTellsWhoIsLeftBehind(t *testing.T) {
	table := newTable(t)
	_, alone := start(t, table, sh("true"))
	if _, exit := follow(t, alone); exit.Background {
		t.Errorf("%+v", exit)
	}
	_, reader := start(t, table, sh("sleep 1000 > /dev/null 2>&1 &"))
	if _, exit := follow(t, reader); !exit.Background || !exit.Exited {
		t.Errorf("%+v", exit)
	}
}
