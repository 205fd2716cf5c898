package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"emergent.dev/guest/reaper"
)

var children = reaper.New()

// Like PID 1, the test process inherits orphans and one reaper waits for every child of it: a test that used
// os/exec would be robbed of its exit status.
func TestMain(m *testing.M) {
	const setChildSubreaper = 36
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0); errno != 0 {
		fmt.Fprintln(os.Stderr, "become subreaper:", errno)
		os.Exit(1)
	}
	go children.Run(context.Background())
	os.Exit(m.Run())
}

// newTable kills what a test leaves running, and waits for its end: the next test may count processes.
func newTable(t *testing.T) *Table {
	t.Helper()
	table, err := NewTable(Defaults{Workdir: t.TempDir(), Environ: os.Environ()}, children)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		table.close()
		for _, process := range table.Known() {
			_ = process.Signal(syscall.SIGKILL)
			process.group.awaitEmpty(children.Reaped)
		}
	})
	return table
}

func sh(script string, args ...string) Spec {
	return Spec{Cmd: "sh", Args: append([]string{"-c", script, "sh"}, args...)}
}

func start(t *testing.T, table *Table, spec Spec) (*Process, *Reader) {
	t.Helper()
	process, reader, err := table.Start(spec)
	if err != nil {
		t.Fatalf("start %v: %v", spec, err)
	}
	t.Cleanup(reader.Close)
	return process, reader
}

// record is a Sink that keeps everything.
type record struct {
	stdout, stderr bytes.Buffer
	skipped        uint64
	idle           int
	// onOutput, if set, is called after each piece; its error ends the reading.
	onOutput func(*record) error
	onIdle   error
}

func (r *record) Output(source Source, data []byte) error {
	if source == Stdout {
		r.stdout.Write(data)
	} else {
		r.stderr.Write(data)
	}
	if r.onOutput != nil {
		return r.onOutput(r)
	}
	return nil
}

func (r *record) Skipped(bytes uint64) error {
	r.skipped += bytes
	return nil
}

func (r *record) Idle() error {
	r.idle++
	return r.onIdle
}

func follow(t *testing.T, reader *Reader) (*record, Exit) {
	t.Helper()
	r := &record{}
	exit, err := reader.Follow(t.Context(), time.Hour, r)
	if err != nil {
		t.Fatalf("follow: %v", err)
	}
	return r, exit
}

var errEnough = errors.New("enough")

// firstLine reads until the command has printed a line.
func firstLine(t *testing.T, reader *Reader) string {
	t.Helper()
	line := ""
	r := &record{onOutput: func(r *record) error {
		if text, _, found := strings.Cut(r.stdout.String(), "\n"); found {
			line = text
			return errEnough
		}
		return nil
	}}
	if _, err := reader.Follow(t.Context(), time.Hour, r); !errors.Is(err, errEnough) {
		t.Fatalf("no line: %v, stderr %q", err, r.stderr.String())
	}
	return line
}

func firstPid(t *testing.T, reader *Reader) int {
	t.Helper()
	pid, err := strconv.Atoi(firstLine(t, reader))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// awaitGone returns when the reaper has taken pid away.
func awaitGone(pid int) {
	for {
		next := children.Reaped()
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return
		}
		<-next
	}
}

// newFifo is a gate: a command that opens it for reading waits until the test opens it for writing.
func newFifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gate")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func openGate(t *testing.T, fifo string) {
	t.Helper()
	if err := os.WriteFile(fifo, []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
}
