package proc

import (
	"errors"
	"testing"
	"time"
)

func TestEndAllRemembersAndGoesOn(t *testing.T) {
	table := newTable(t)
	polite, politeReader := start(t, table, sh("trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done"))
	firstLine(t, politeReader)
	politeReader.Close()
	outcome, err := table.EndAll(time.Hour)
	if err != nil || outcome.Killed != 0 || outcome.Left != 0 {
		t.Fatalf("%+v, %v", outcome, err)
	}
	// Without waiting: whoever asked may look at once.
	if end := polite.Info().End; end == nil || end.Exit.Code != 5 {
		t.Errorf("%+v", end)
	}
	if found, err := table.ByPid(uint32(polite.Pid)); found != polite {
		t.Errorf("%v, %v", found, err)
	}
	_, reader := start(t, table, sh("echo again"))
	firstLine(t, reader)
	reader.Close()
}

func TestEndAllRefusesCommandsMeanwhile(t *testing.T) {
	table := newTable(t)
	stubborn, reader := start(t, table, sh("trap 'echo asked' TERM; echo ready; while :; do sleep 0.01; done"))
	firstLine(t, reader)
	reader.Close()
	over := make(chan error, 1)
	go func() {
		_, err := table.EndAll(shortGrace)
		over <- err
	}()
	// It has been asked, so the grace has begun.
	next := stubborn.Read(uint64(len("ready\n")))
	firstLine(t, next)
	next.Close()
	if _, _, err := table.Start(Spec{Cmd: "true"}); !errors.Is(err, ErrEmptying) {
		t.Errorf("meanwhile: %v", err)
	}
	if err := <-over; err != nil {
		t.Fatal(err)
	}
	if end := stubborn.Info().End; end == nil || end.Exit.Code != 137 {
		t.Errorf("%+v", end)
	}
	if _, again, err := table.Start(Spec{Cmd: "true"}); err != nil {
		t.Errorf("afterwards: %v", err)
	} else {
		again.Close()
	}
}

func TestEndAllOfASandboxThatIsBeingStopped(t *testing.T) {
	table := newTable(t)
	terminate(t, table, shortGrace)
	if _, err := table.EndAll(shortGrace); !errors.Is(err, ErrStopping) {
		t.Error(err)
	}
}
