package proc

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"
)

func atTerminal(cmd string, args ...string) Spec {
	return Spec{Cmd: cmd, Args: args, Terminal: &Size{Cols: 101, Rows: 33}}
}

// awaitText reads until the terminal has shown the text, and answers with all that it has shown.
func awaitText(t *testing.T, process *Process, text string) string {
	t.Helper()
	reader := process.Read(0)
	defer reader.Close()
	r := &record{onOutput: func(r *record) error {
		if strings.Contains(r.stdout.String(), text) {
			return errEnough
		}
		return nil
	}}
	if exit, err := reader.Follow(t.Context(), time.Hour, r); !errors.Is(err, errEnough) {
		t.Fatalf("no %q in %q: %+v, %v", text, r.stdout.String(), exit, err)
	}
	return r.stdout.String()
}

func typeText(t *testing.T, process *Process, text string) {
	t.Helper()
	if err := process.WriteStdin(t.Context(), []byte(text)); err != nil {
		t.Fatalf("type %q: %v", text, err)
	}
}

func TestATerminal(t *testing.T) {
	table := newTable(t)
	script := `tty; stty size; echo "$TERM"; echo err >&2; test -t 0 -a -t 1 -a -t 2 && : </dev/tty && exit 3`
	spec := atTerminal("sh", "-c", script)
	spec.Envs = map[string]string{"TERM": "dumb"}
	_, reader := start(t, table, spec)
	r, exit := follow(t, reader)
	lines := strings.Split(r.stdout.String(), "\r\n")
	if len(lines) != 5 || !strings.HasPrefix(lines[0], "/dev/pts/") || lines[1] != "33 101" || lines[2] != "dumb" || lines[3] != "err" {
		t.Errorf("%q", lines)
	}
	if exit.Code != 3 || r.stderr.Len() != 0 {
		t.Errorf("%+v, stderr %q", exit, r.stderr.String())
	}
}

func TestATerminalHasATypeUnlessToldOtherwise(t *testing.T) {
	table, err := NewTable(Defaults{Workdir: t.TempDir(), Environ: []string{"PATH=/usr/bin:/bin"}}, children)
	if err != nil {
		t.Fatal(err)
	}
	_, reader := start(t, table, atTerminal("sh", "-c", `echo "$TERM"`))
	if r, _ := follow(t, reader); r.stdout.String() != "xterm-256color\r\n" {
		t.Errorf("%q", r.stdout.String())
	}
}

func TestTypingAndInterrupting(t *testing.T) {
	table := newTable(t)
	process, reader := start(t, table, atTerminal("sh", "-c", `read line; echo "got $line"; exec sleep 1000`))
	typeText(t, process, "hello\n")
	awaitText(t, process, "got hello\r\n")
	typeText(t, process, "\x03")
	if _, exit := follow(t, reader); exit.Status != "signal: SIGINT" {
		t.Errorf("%+v", exit)
	}
	if err := process.WriteStdin(t.Context(), []byte("x")); !errors.Is(err, ErrNoStdin) {
		t.Errorf("type after the end: %v", err)
	}
}

func TestAKeyThatSignalsForgetsWhatWasTypedBeforeIt(t *testing.T) {
	table := newTable(t)
	process, reader := start(t, table, atTerminal("sh", "-c", `
		stty -echo
		trap 'read line; echo "got $line"; exit 5' INT
		echo ready; while :; do sleep 0.01; done`))
	awaitText(t, process, "ready\r\n")
	typeText(t, process, "ahead\nand more\x03after\n")
	if r, exit := follow(t, reader); exit.Code != 5 || r.stdout.String() != "ready\r\ngot after\r\n" {
		t.Errorf("%q, %+v", r.stdout.String(), exit)
	}
}

func TestAKeyThatSignalsNothingIsTyped(t *testing.T) {
	table := newTable(t)
	process, reader := start(t, table, atTerminal("sh", "-c", `stty raw -echo; echo ready; head -c 5 | od -An -c`))
	awaitText(t, process, "ready\n")
	typeText(t, process, "a\x03\x00\x1a\n")
	if r, _ := follow(t, reader); !strings.HasSuffix(r.stdout.String(), "   a 003  \\0 032  \\n\n") {
		t.Errorf("%q", r.stdout.String())
	}
}

func TestResizing(t *testing.T) {
	table := newTable(t)
	process, reader := start(t, table, atTerminal("sh", "-c", `
		trap 'stty size; exit 5' WINCH
		echo ready; while :; do sleep 0.01; done`))
	awaitText(t, process, "ready\r\n")
	if err := process.Resize(Size{Cols: 40, Rows: 12}); err != nil {
		t.Fatal(err)
	}
	if r, exit := follow(t, reader); exit.Code != 5 || r.stdout.String() != "ready\r\n12 40\r\n" {
		t.Errorf("%q, %+v", r.stdout.String(), exit)
	}
	if err := process.Resize(Size{Cols: 40, Rows: 12}); !errors.Is(err, ErrNoTerminal) {
		t.Errorf("resize after the end: %v", err)
	}
}

func TestTheEndOfAShellHangsUpItsTerminal(t *testing.T) {
	table := newTable(t)
	process, reader := start(t, table, atTerminal("sh", "-c", `
		sh -c 'trap "" HUP; echo "deaf $$"; while :; do sleep 0.01; echo noise || exit; done' &
		sleep 1000 & echo "child $!"; read line`))
	shown := awaitText(t, process, "child ")
	for !strings.Contains(shown, "deaf ") {
		shown = awaitText(t, process, "deaf ")
	}
	typeText(t, process, "\n")
	if _, exit := follow(t, reader); exit.Code != 0 {
		t.Errorf("%+v", exit)
	}
	// Its group, with one that hears the hang-up and one that only notices that nobody takes its output.
	process.group.awaitEmpty(children.Reaped)
}

func TestASignalReachesTheJobsOfATerminal(t *testing.T) {
	table := newTable(t)
	process, reader := start(t, table, atTerminal("bash", "--norc", "-i"))
	typeText(t, process, "sleep 1000 & echo job=$!.\n")
	awaitText(t, process, "\r\njob=")
	members := inSession(t, process.Pid)
	if len(members) != 2 {
		t.Errorf("a shell and its job are %v", members)
	}
	if err := process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, exit := follow(t, reader); exit.Status != "signal: SIGKILL" {
		t.Errorf("%+v", exit)
	}
	for _, one := range members {
		awaitGone(one)
	}
}

func inSession(t *testing.T, session int) []int {
	t.Helper()
	there, err := population()
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, one := range there {
		if one.session == session {
			pids = append(pids, one.pid)
		}
	}
	return pids
}

func TestTerminalsEndWithTheSandbox(t *testing.T) {
	table := newTable(t)
	process, reader := start(t, table, atTerminal("bash", "--norc", "-i"))
	typeText(t, process, "echo at'-'work\n")
	awaitText(t, process, "at-work\r\n")
	reader.Close()
	outcome, err := table.Terminate(time.Hour)
	if err != nil || outcome.Killed != 0 || outcome.Left != 0 {
		t.Errorf("%+v, %v", outcome, err)
	}
}

func TestTerminalRefusals(t *testing.T) {
	table := newTable(t)
	for _, size := range []Size{{0, 24}, {80, 0}, {1 << 16, 24}, {80, 1 << 16}} {
		if _, _, err := table.Start(Spec{Cmd: "true", Terminal: &size}); !errors.Is(err, ErrBadArgument) {
			t.Errorf("%+v: %v", size, err)
		}
	}
	plain, _ := start(t, table, Spec{Cmd: "cat", Stdin: true})
	if err := plain.Resize(Size{80, 24}); !errors.Is(err, ErrNoTerminal) {
		t.Errorf("resize without a terminal: %v", err)
	}
	process, _ := start(t, table, atTerminal("cat"))
	if err := process.CloseStdin(); !errors.Is(err, ErrNoStdin) {
		t.Errorf("close a terminal: %v", err)
	}
}
