package proc

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"testing"
	"time"
)

const megabyte = 1_000_000

// countedOutput prints n bytes that differ from place to place.
const countedOutput = `yes 0123456789abcdef | head -c "$1"`

func expectedOutput(n int) []byte {
	const line = "0123456789abcdef\n"
	text := make([]byte, n)
	for i := range text {
		text[i] = line[i%len(line)]
	}
	return text
}

func TestASlowReaderGetsEveryByte(t *testing.T) {
	table := newTable(t)
	table.spillDirs = noDirs
	process, reader := start(t, table, sh(countedOutput, "50000000"))
	filled := false
	r := &record{onOutput: func(*record) error {
		// Lets the log fill up before the first piece is taken: the next that the pump reads does not fit.
		for !filled {
			_, n, _, changed := process.log.readAt(memoryCapacity-pumpBuffer, make([]byte, 1))
			if filled = n > 0; !filled {
				<-changed
			}
		}
		return nil
	}}
	exit, err := reader.Follow(t.Context(), time.Hour, r)
	if err != nil || exit.Code != 0 || r.skipped != 0 {
		t.Fatalf("%+v, %v, %d skipped", exit, err, r.skipped)
	}
	if sha256.Sum256(r.stdout.Bytes()) != sha256.Sum256(expectedOutput(50*megabyte)) {
		t.Errorf("%d bytes arrived, not those that were written", r.stdout.Len())
	}
}

func TestACommandRunsOnWithoutItsReader(t *testing.T) {
	table := newTable(t)
	table.spillDirs = noDirs
	process, reader := start(t, table, sh(countedOutput+"; echo end >&2", "3000000"))
	firstLine(t, reader)
	reader.Close()
	<-process.done

	r, exit := follow(t, process.Read(0))
	total := uint64(r.stdout.Len()+r.stderr.Len()) + r.skipped
	if exit.Code != 0 || total != 3*megabyte+4 || r.skipped != total-memoryCapacity {
		t.Errorf("%+v, %d bytes accounted for, %d skipped", exit, total, r.skipped)
	}
	if r.stderr.String() != "end\n" {
		t.Errorf("stderr %q", r.stderr.String())
	}
}

func TestTheWholeOutputCanBeReadAfterTheReaderIsGone(t *testing.T) {
	table := newTable(t)
	table.spillDirs = []string{t.TempDir()}
	process, reader := start(t, table, sh(countedOutput, "20000000"))
	firstLine(t, reader)
	reader.Close()
	<-process.done
	again := process.Read(0)
	defer again.Close()
	r, exit := follow(t, again)
	if exit.Code != 0 || r.skipped != 0 || !bytes.Equal(r.stdout.Bytes(), expectedOutput(20*megabyte)) {
		t.Errorf("%+v, %d bytes, %d skipped", exit, r.stdout.Len(), r.skipped)
	}
}

func TestADetachedCommandIsNotHeldBackByItsStarter(t *testing.T) {
	table := newTable(t)
	table.spillDirs = noDirs
	spec := sh(countedOutput, "5000000")
	spec.Detached = true
	process, reader := start(t, table, spec)
	// The reader is open and does not read.
	<-process.done
	if r, _ := follow(t, reader); uint64(r.stdout.Len())+r.skipped != 5*megabyte || r.skipped == 0 {
		t.Errorf("%d bytes, %d skipped", r.stdout.Len(), r.skipped)
	}
}

func TestReadingUpToNow(t *testing.T) {
	table := newTable(t)
	gate := newFifo(t)
	process, reader := start(t, table, sh(`echo one; read go <"$1"; echo two; exit 3`, gate))
	firstLine(t, reader)
	for offset, want := range map[uint64]string{0: "one\n", 1: "ne\n", 4: "", 100: ""} {
		upTo := process.Read(offset)
		defer upTo.Close()
		r := &record{}
		_, ended, err := upTo.UpToNow(t.Context(), r)
		if err != nil || ended || r.stdout.String() != want {
			t.Errorf("from %d: %q, ended %v, %v", offset, r.stdout.String(), ended, err)
		}
	}
	openGate(t, gate)
	<-process.done
	last := process.Read(4)
	defer last.Close()
	r := &record{}
	exit, ended, err := last.UpToNow(t.Context(), r)
	if err != nil || !ended || exit.Code != 3 || r.stdout.String() != "two\n" {
		t.Errorf("%q, %+v, ended %v, %v", r.stdout.String(), exit, ended, err)
	}
}

func TestAReaderCanBeginBeforeItsPlaceIsWritten(t *testing.T) {
	table := newTable(t)
	gate := newFifo(t)
	process, _ := start(t, table, sh(`read go <"$1"; echo one; echo two`, gate))
	ahead := process.Read(uint64(len("one\n")))
	defer ahead.Close()
	openGate(t, gate)
	if r, _ := follow(t, ahead); r.stdout.String() != "two\n" || r.skipped != 0 {
		t.Errorf("%q, %d skipped", r.stdout.String(), r.skipped)
	}
}

func TestAReaderCanBeginWhereAnotherStopped(t *testing.T) {
	table := newTable(t)
	gate := newFifo(t)
	process, reader := start(t, table, sh(`echo one; read go <"$1"; echo two`, gate))
	firstLine(t, reader)
	reader.Close()
	second := process.Read(uint64(len("one\n")))
	openGate(t, gate)
	if r, _ := follow(t, second); r.stdout.String() != "two\n" || r.skipped != 0 {
		t.Errorf("%q, %d skipped", r.stdout.String(), r.skipped)
	}
	if r, _ := follow(t, process.Read(1<<40)); r.stdout.Len() != 0 {
		t.Errorf("%q from beyond the end", r.stdout.String())
	}
}

func TestASecondReaderDoesNotHoldTheCommandBack(t *testing.T) {
	table := newTable(t)
	process, reader := start(t, table, sh(countedOutput, "5000000"))
	lagging := &record{onOutput: func(*record) error {
		<-process.done
		return nil
	}}
	lagged := make(chan Exit, 1)
	go func() {
		exit, err := process.Read(0).Follow(t.Context(), time.Hour, lagging)
		if err != nil {
			t.Errorf("follow: %v", err)
		}
		lagged <- exit
	}()
	if r, _ := follow(t, reader); r.stdout.Len() != 5*megabyte || r.skipped != 0 {
		t.Errorf("the first reader got %d bytes, %d skipped", r.stdout.Len(), r.skipped)
	}
	<-lagged
	if total := uint64(lagging.stdout.Len()) + lagging.skipped; total != 5*megabyte {
		t.Errorf("the second reader was told of %d bytes", total)
	}
}

func TestFollowingEndsWithItsContextAndLeavesTheCommand(t *testing.T) {
	table := newTable(t)
	gate := newFifo(t)
	process, reader := start(t, table, sh(`read go <"$1"; exit 7`, gate))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errEnough)
	if _, err := reader.Follow(ctx, time.Hour, &record{}); !errors.Is(err, errEnough) {
		t.Fatalf("%v", err)
	}
	if !process.running() {
		t.Fatal("the command ended with its reader's context")
	}
	openGate(t, gate)
	if _, exit := follow(t, process.Read(0)); exit.Code != 7 {
		t.Errorf("%+v", exit)
	}
}

func TestASilentCommandIsReportedIdle(t *testing.T) {
	table := newTable(t)
	_, reader := start(t, table, Spec{Cmd: "sleep", Args: []string{"1000"}})
	r := &record{onIdle: errEnough}
	if _, err := reader.Follow(t.Context(), time.Millisecond, r); !errors.Is(err, errEnough) || r.idle != 1 {
		t.Errorf("%v, idle %d times", err, r.idle)
	}
}
