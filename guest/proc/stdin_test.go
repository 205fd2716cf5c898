package proc

import (
	"context"
	"errors"
	"testing"
)

func TestStdin(t *testing.T) {
	table := newTable(t)
	process, reader := start(t, table, Spec{Cmd: "cat", Stdin: true})
	for _, text := range []string{"one\n", "two\n"} {
		if err := process.WriteStdin(t.Context(), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := process.CloseStdin(); err != nil {
			t.Fatalf("close: %v", err)
		}
	}
	r, exit := follow(t, reader)
	if r.stdout.String() != "one\ntwo\n" || exit.Code != 0 {
		t.Errorf("%q, %+v", r.stdout.String(), exit)
	}
	if err := process.WriteStdin(t.Context(), []byte("x")); !errors.Is(err, ErrNoStdin) {
		t.Errorf("write after close: %v", err)
	}
}

func TestACommandWithoutStdinReadsEndOfFile(t *testing.T) {
	table := newTable(t)
	process, reader := start(t, table, Spec{Cmd: "cat"})
	if _, exit := follow(t, reader); exit.Code != 0 {
		t.Errorf("%+v", exit)
	}
	if err := process.WriteStdin(t.Context(), []byte("x")); !errors.Is(err, ErrNoStdin) {
		t.Errorf("write: %v", err)
	}
	if err := process.CloseStdin(); !errors.Is(err, ErrNoStdin) {
		t.Errorf("close: %v", err)
	}
}

func TestInputThatIsNotReadWaitsForItsContext(t *testing.T) {
	table := newTable(t)
	gate := newFifo(t)
	spec := sh(`read go <"$1"; wc -c`, gate)
	spec.Stdin = true
	process, reader := start(t, table, spec)

	ctx, cancel := context.WithCancelCause(t.Context())
	failed := make(chan error)
	go func() { failed <- process.WriteStdin(ctx, make([]byte, megabyte)) }()
	// A second writer waits its turn and gives up by its own context.
	cancelled, giveUp := context.WithCancelCause(t.Context())
	giveUp(errEnough)
	if err := process.WriteStdin(cancelled, make([]byte, megabyte)); !errors.Is(err, errEnough) {
		t.Fatalf("second writer: %v", err)
	}
	cancel(errEnough)
	if err := <-failed; !errors.Is(err, errEnough) {
		t.Fatalf("first writer: %v", err)
	}
	// The pipe still works afterwards.
	openGate(t, gate)
	if err := process.WriteStdin(t.Context(), make([]byte, megabyte)); err != nil {
		t.Fatalf("third writer: %v", err)
	}
	if err := process.CloseStdin(); err != nil {
		t.Fatal(err)
	}
	follow(t, reader)
}
