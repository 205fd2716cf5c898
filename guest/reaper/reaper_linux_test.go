package reaper

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Orphans of this process's descendants become its children, as PID 1's would.
func TestMain(m *testing.M) {
	const setChildSubreaper = 36
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0); errno != 0 {
		fmt.Fprintln(os.Stderr, "become subreaper:", errno)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func running(t *testing.T) *Reaper {
	r := New()
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		r.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-stopped
	})
	return r
}

func shell(script string, output *os.File) func() (int, error) {
	return func() (int, error) {
		attr := &syscall.ProcAttr{Files: []uintptr{0, output.Fd(), 2}, Env: os.Environ()}
		return syscall.ForkExec("/bin/sh", []string{"sh", "-c", script}, attr)
	}
}

func TestEveryChildKeepsItsOwnExit(t *testing.T) {
	r := running(t)
	var all sync.WaitGroup
	for code := range 60 {
		all.Add(1)
		go func() {
			defer all.Done()
			// Each child also leaves an orphan behind, whose exit must not be taken for its own.
			_, exit, err := r.Start(shell(fmt.Sprintf("(exit 99) & exit %d", code), os.Stderr))
			if err != nil {
				t.Errorf("start: %v", err)
				return
			}
			if status := <-exit; status.ExitStatus() != code {
				t.Errorf("child %d exited with %d", code, status.ExitStatus())
			}
		}()
	}
	all.Wait()
	if len(r.waiting) != 0 || len(r.early) != 0 {
		t.Errorf("left over: waiting %v, early %v", r.waiting, r.early)
	}
}

func TestOrphansAreReaped(t *testing.T) {
	r := running(t)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	_, exit, err := r.Start(shell("sh -c 'read line' <&- & echo $!", write))
	if err != nil {
		t.Fatal(err)
	}
	write.Close()
	line, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	orphan, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	<-exit
	awaitGone(r, orphan)
}

// awaitGone returns when the reaper has taken pid away.
func awaitGone(r *Reaper, pid int) {
	for {
		next := r.Reaped()
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return
		}
		<-next
	}
}

func TestAChildThatEndsBeforeItsForkReturns(t *testing.T) {
	r := running(t)
	_, exit, err := r.Start(func() (int, error) {
		pid, err := shell("exit 17", os.Stderr)()
		awaitGone(r, pid)
		return pid, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if status := <-exit; status.ExitStatus() != 17 {
		t.Errorf("exit %d", status.ExitStatus())
	}
	if len(r.early) != 0 {
		t.Errorf("left over: %v", r.early)
	}
}

func TestAFailedStartLeavesNothingBehind(t *testing.T) {
	r := running(t)
	_, _, err := r.Start(func() (int, error) {
		return syscall.ForkExec("/nonexistent", []string{"nonexistent"}, nil)
	})
	if !errors.Is(err, syscall.ENOENT) {
		t.Fatalf("error is %v", err)
	}
	if len(r.waiting) != 0 || len(r.early) != 0 || r.starting != 0 {
		t.Errorf("left over: %+v", r)
	}
}
