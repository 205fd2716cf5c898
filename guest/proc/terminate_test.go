package proc

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

const shortGrace = 300 * time.Millisecond

func terminate(t *testing.T, table *Table, grace time.Duration) Outcome {
	t.Helper()
	outcome, err := table.Terminate(grace)
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

func TestTerminateAsksThenKills(t *testing.T) {
	table := newTable(t)
	polite, politeReader := start(t, table, sh("trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done"))
	stubborn, stubbornReader := start(t, table, sh("trap '' TERM; sleep 1000 & echo ready; wait"))
	firstLine(t, politeReader)
	firstLine(t, stubbornReader)
	politeReader.Close()
	stubbornReader.Close()
	outcome := terminate(t, table, shortGrace)
	<-polite.done
	<-stubborn.done
	if polite.exit.Code != 5 || stubborn.exit.Code != 137 {
		t.Errorf("%+v, %+v", polite.exit, stubborn.exit)
	}
	// The stubborn one and its sleep.
	if outcome.Killed != 2 || outcome.Asked < 3 || outcome.Left != 0 {
		t.Errorf("%+v", outcome)
	}
	if _, _, err := table.Start(Spec{Cmd: "true"}); !errors.Is(err, ErrStopping) {
		t.Errorf("start afterwards: %v", err)
	}
	if again := terminate(t, table, shortGrace); again != (Outcome{}) {
		t.Errorf("the second time: %+v", again)
	}
}

func TestTerminateDoesNotWaitLongerThanItMust(t *testing.T) {
	table := newTable(t)
	process, reader := start(t, table, Spec{Cmd: "sleep", Args: []string{"1000"}})
	reader.Close()
	// The test would time out.
	if outcome := terminate(t, table, time.Hour); outcome != (Outcome{Asked: 1}) {
		t.Errorf("%+v", outcome)
	}
	<-process.done
	if process.exit.Code != 143 {
		t.Errorf("%+v", process.exit)
	}
}

func TestTerminateReachesWhatIsStopped(t *testing.T) {
	table := newTable(t)
	process, reader := start(t, table, sh("trap 'exit 6' TERM; echo ready; kill -STOP $$; sleep 1000"))
	firstLine(t, reader)
	reader.Close()
	for {
		if one, err := lookAt(process.Pid); err != nil {
			t.Fatal(err)
		} else if one.state == 'T' {
			break
		}
		time.Sleep(time.Millisecond)
	}
	terminate(t, table, time.Hour)
	<-process.done
	if process.exit.Code != 6 {
		t.Errorf("%+v", process.exit)
	}
}

func TestTerminateReachesDaemons(t *testing.T) {
	table := newTable(t)
	_, reader := start(t, table, sh(`setsid sh -c 'trap "" TERM; echo $$; sleep 1000 & wait; wait' & wait`))
	daemon := firstPid(t, reader)
	reader.Close()
	if outcome := terminate(t, table, shortGrace); outcome.Killed != 2 || outcome.Left != 0 {
		t.Errorf("%+v", outcome)
	}
	if err := syscall.Kill(daemon, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the daemon is still there: %v", err)
	}
}

func TestTerminateWaitsForReadersToBeTold(t *testing.T) {
	table := newTable(t)
	process, reader := start(t, table, sh("trap 'echo last words; exit 7' TERM; echo ready; while :; do sleep 0.01; done"))
	firstLine(t, reader)
	terminated := make(chan struct{})
	go func() {
		defer close(terminated)
		terminate(t, table, time.Hour)
	}()
	<-process.done
	r, exit := follow(t, reader)
	if exit.Code != 7 || !strings.HasSuffix(r.stdout.String(), "last words\n") {
		t.Errorf("%+v, %q", exit, r.stdout.String())
	}
	// Several looks at the sandbox, which is empty.
	time.Sleep(4 * lookAgain)
	select {
	case <-terminated:
		t.Error("it answered before the reader was closed")
	default:
	}
	reader.Close()
	<-terminated
}

func TestAReaderThatHangsDoesNotHoldTerminateUp(t *testing.T) {
	table := newTable(t)
	_, reader := start(t, table, Spec{Cmd: "sleep", Args: []string{"1000"}})
	defer reader.Close()
	terminate(t, table, time.Hour)
}

func TestAnAgentThatIsNotPid1SparesItsNeighbours(t *testing.T) {
	if ownsNamespace() {
		t.Fatal("the test is not PID 1, and is taken for it")
	}
	there, err := population()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range there {
		if one.pid == os.Getpid() || one.pid == os.Getppid() || one.pid <= 1 {
			t.Errorf("%+v would be ended", one)
		}
	}
	neighbour := inhabitant{pid: 30, parent: 20}
	all := map[int]inhabitant{20: {pid: 20, parent: 1}, 30: neighbour, 40: {pid: 40, parent: 30}}
	if descends(neighbour, 40, all) || !descends(all[40], 20, all) || descends(all[20], 30, all) {
		t.Error("ancestors and descendants are mixed up")
	}
}

func TestAProcessesStatusIsReadWhateverItsName(t *testing.T) {
	one, err := parseStat(7, "7 (a) S 1 (b) T 3 5 6 0 -1 2097216 0")
	if err != nil || one != (inhabitant{pid: 7, parent: 3, group: 5, session: 6, state: 'T', flags: 2097216}) {
		t.Errorf("%+v, %v", one, err)
	}
	for _, text := range []string{"", "7 (a", "7 (a) S x 5 6 0 -1 0", "7 (a) S 1 2"} {
		if _, err := parseStat(7, text); err == nil || !strings.Contains(err.Error(), "process 7") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
