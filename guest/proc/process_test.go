package proc

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestExits(t *testing.T) {
	table := newTable(t)
	for _, row := range []struct {
		script string
		want   Exit
	}{
		{"exit 0", Exit{0, true, "exit status 0", false}},
		{"exit 3", Exit{3, true, "exit status 3", false}},
		{"kill -KILL $$", Exit{137, false, "signal: SIGKILL", false}},
		{"kill -TERM $$", Exit{143, false, "signal: SIGTERM", false}},
	} {
		_, reader := start(t, table, sh(row.script))
		if _, exit := follow(t, reader); exit != row.want {
			t.Errorf("%s: %+v", row.script, exit)
		}
	}
}

func TestManyAtOnceKeepTheirOutputAndExit(t *testing.T) {
	table := newTable(t)
	done := make(chan string)
	const count = 40
	for i := range count {
		go func() {
			text := strings.Repeat("x", i)
			_, reader, err := table.Start(sh(`printf %s "$1"; exit "$2"`, text, string(rune('0'+i%10))))
			if err != nil {
				done <- err.Error()
				return
			}
			defer reader.Close()
			r := &record{}
			exit, err := reader.Follow(t.Context(), time.Hour, r)
			if err != nil || exit.Code != i%10 || r.stdout.String() != text {
				done <- "wrong result"
				return
			}
			done <- ""
		}()
	}
	for range count {
		if problem := <-done; problem != "" {
			t.Error(problem)
		}
	}
}

func TestWhereAndWithWhatACommandRuns(t *testing.T) {
	table := newTable(t)
	table.defaults.Environ = []string{"PATH=" + os.Getenv("PATH"), "KEPT=1", "CHANGED=old"}
	if err := os.Mkdir(filepath.Join(table.defaults.Workdir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	spec := sh(`pwd; echo "$KEPT $CHANGED $ADDED"; cat; echo problem >&2`)
	spec.Cwd = "sub"
	spec.Envs = map[string]string{"CHANGED": "new", "ADDED": "a=b"}
	_, reader := start(t, table, spec)
	r, _ := follow(t, reader)
	want := filepath.Join(table.defaults.Workdir, "sub") + "\n1 new a=b\n"
	if r.stdout.String() != want || r.stderr.String() != "problem\n" {
		t.Errorf("stdout %q, stderr %q", r.stdout.String(), r.stderr.String())
	}
}

func TestRefusedStarts(t *testing.T) {
	table := newTable(t)
	plain := filepath.Join(table.defaults.Workdir, "plain")
	orphaned := filepath.Join(table.defaults.Workdir, "orphaned")
	for path, mode := range map[string]os.FileMode{plain: 0o644, orphaned: 0o755} {
		if err := os.WriteFile(path, []byte("#!/no/such/interpreter\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, row := range map[string]struct {
		spec Spec
		want error
	}{
		"unknown name":        {Spec{Cmd: "no-such-program"}, ErrProgramNotFound},
		"unknown path":        {Spec{Cmd: "/no/such/program"}, ErrProgramNotFound},
		"missing interpreter": {Spec{Cmd: orphaned}, ErrProgramNotFound},
		"not executable":      {Spec{Cmd: plain}, ErrNotExecutable},
		"relative":            {Spec{Cmd: "./plain"}, ErrNotExecutable},
		"directory":           {Spec{Cmd: "/"}, ErrNotExecutable},
		"missing cwd":         {Spec{Cmd: "true", Cwd: "/no/such"}, ErrBadDirectory},
		"file as cwd":         {Spec{Cmd: "true", Cwd: plain}, ErrBadDirectory},
		"empty":               {Spec{}, ErrBadArgument},
		"NUL":                 {Spec{Cmd: "true", Args: []string{"a\x00b"}}, ErrBadArgument},
		"bad variable":        {Spec{Cmd: "true", Envs: map[string]string{"A=B": ""}}, ErrBadArgument},
		"failed, with a tag":  {Spec{Cmd: orphaned, Tag: "job"}, ErrProgramNotFound},
		"huge tag":            {Spec{Cmd: "true", Tag: strings.Repeat("x", maxTag+1)}, ErrBadArgument},
		"huge argument":       {Spec{Cmd: "true", Args: []string{strings.Repeat("x", 4<<20)}}, ErrBadArgument},
	} {
		_, _, err := table.Start(row.spec)
		if !errors.Is(err, row.want) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && row.want == ErrProgramNotFound && !strings.Contains(err.Error(), row.spec.Cmd) {
			t.Errorf("%s: %q does not name the program", name, err)
		}
	}
	if left := len(table.all) + len(table.byPid) + len(table.byTag); left != 0 {
		t.Errorf("%d entries left in the table", left)
	}
}

func TestSignalReachesGrandchildren(t *testing.T) {
	table := newTable(t)
	process, reader := start(t, table, sh("sh -c 'sleep 1000 & echo $!; wait'; true"))
	grandchild := firstPid(t, reader)
	if err := process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, exit := follow(t, reader); exit.Code != 137 {
		t.Errorf("%+v", exit)
	}
	awaitGone(grandchild)
}

func TestSignalReachesWhatOutlivedTheLeader(t *testing.T) {
	table := newTable(t)
	process, reader := start(t, table, sh("sleep 1000 >/dev/null 2>&1 & echo $!"))
	child := firstPid(t, reader)
	follow(t, reader)
	if err := process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	awaitGone(child)
	if err := process.Signal(syscall.SIGTERM); !errors.Is(err, ErrNoProcess) {
		t.Errorf("signal to an empty group: %v", err)
	}
}

func TestABackgroundChildDoesNotHoldTheEndBack(t *testing.T) {
	table := newTable(t)
	gate := newFifo(t)
	process, reader := start(t, table, sh(`(read go <"$1"; echo late) & echo early`, gate))
	r, exit := follow(t, reader)
	if r.stdout.String() != "early\n" || exit.Code != 0 {
		t.Fatalf("%q, %+v", r.stdout.String(), exit)
	}
	reader.Close()
	openGate(t, gate)
	// Its output still arrives in the log: its pipe was not closed on it.
	buffer := make([]byte, 100)
	for {
		_, n, _, changed := process.log.readAt(uint64(len("early\n")), buffer)
		if n > 0 {
			if string(buffer[:n]) != "late\n" {
				t.Errorf("%q", buffer[:n])
			}
			return
		}
		<-changed
	}
}

func written(log *outputLog) uint64 {
	end, _ := log.extent()
	return end
}

func TestThePumpDeliversWhatIsInThePipeAfterTheDeadline(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	const size = 3 * pumpBuffer / 2
	if _, err := write.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	if err := read.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	log := newOutputLog(noDirs)
	drained, ended := make(chan uint64), make(chan struct{})
	go func() {
		defer close(ended)
		pump(Stdout, read, log, func() { drained <- written(log) })
	}()
	if place := <-drained; place != size {
		t.Errorf("drained after %d bytes", place)
	}
	if _, err := write.WriteString("more"); err != nil {
		t.Errorf("write after draining: %v", err)
	}
	write.Close()
	<-ended
	if written(log) != size+4 {
		t.Errorf("%d bytes at the end", written(log))
	}
}
