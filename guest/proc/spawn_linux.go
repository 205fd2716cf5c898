package proc

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// pipes are the agent's ends of a command's standard streams: a terminal for all of them, or else one for each,
// where stdin is nil when the command has none.
type pipes struct {
	stdin, stdout, stderr *os.File
	terminal              *terminal
}

// input is nil when the command has none.
func (p pipes) input() *os.File {
	if p.terminal != nil {
		return p.terminal.master
	}
	return p.stdin
}

func (p pipes) outputs() map[Source]*os.File {
	if p.terminal != nil {
		return map[Source]*os.File{Stdout: p.terminal.master}
	}
	return map[Source]*os.File{Stdout: p.stdout, Stderr: p.stderr}
}

func (p pipes) close() {
	for _, file := range []*os.File{p.stdin, p.stdout, p.stderr} {
		if file != nil {
			file.Close()
		}
	}
	p.terminal.close()
}

// spawner forks commands by syscall.ForkExec: os/exec would wait for the child itself, which is the reaper's
// business, and costs more system calls, which are slow inside a sandbox.
type spawner struct {
	// devNull is opened once: it is the standard input of every command that has none.
	devNull *os.File
	// credential is who commands run as; nil: as the agent.
	credential *syscall.Credential
}

func newSpawner(credential *syscall.Credential) (*spawner, error) {
	devNull, err := os.Open(os.DevNull)
	if err != nil {
		return nil, fmt.Errorf("open null device: %w", err)
	}
	return &spawner{devNull, credential}, nil
}

// prepare makes the pipes, or the terminal, and answers with the fork to run; child ends are closed by that fork.
func (s *spawner) prepare(cmd command, spec Spec) (ours pipes, fork func() (int, error), err error) {
	if spec.Terminal != nil {
		return s.prepareTerminal(cmd, *spec.Terminal)
	}
	return s.preparePipes(cmd, spec.Stdin)
}

// prepareTerminal has the command lead a session, whose controlling terminal is its standard input.
func (s *spawner) prepareTerminal(cmd command, size Size) (ours pipes, fork func() (int, error), err error) {
	theirs, terminal, err := newTerminal(size)
	if err != nil {
		return ours, nil, err
	}
	if err := s.give(theirs); err != nil {
		syscall.Close(theirs)
		terminal.close()
		return ours, nil, err
	}
	attr := &syscall.ProcAttr{
		Dir:   cmd.dir,
		Env:   cmd.env,
		Files: []uintptr{uintptr(theirs), uintptr(theirs), uintptr(theirs)},
		Sys:   &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0, Credential: s.credential},
	}
	return pipes{terminal: terminal}, func() (int, error) {
		defer syscall.Close(theirs)
		return forkExec(cmd, attr)
	}, nil
}

func (s *spawner) preparePipes(cmd command, withStdin bool) (ours pipes, fork func() (int, error), err error) {
	var theirs []int
	closeTheirs := func() {
		for _, fd := range theirs {
			syscall.Close(fd)
		}
	}
	defer func() {
		if err != nil {
			ours.close()
			closeTheirs()
		}
	}()
	stdin := int(s.devNull.Fd())
	if withStdin {
		var read int
		if read, ours.stdin, err = newPipe("stdin", towardsCommand); err != nil {
			return ours, nil, err
		}
		theirs = append(theirs, read)
		stdin = read
	}
	stdout, file, err := newPipe("stdout", fromCommand)
	if err != nil {
		return ours, nil, err
	}
	ours.stdout = file
	theirs = append(theirs, stdout)
	stderr, file, err := newPipe("stderr", fromCommand)
	if err != nil {
		return ours, nil, err
	}
	ours.stderr = file
	theirs = append(theirs, stderr)
	if err = s.give(theirs...); err != nil {
		return ours, nil, err
	}

	attr := &syscall.ProcAttr{
		Dir:   cmd.dir,
		Env:   cmd.env,
		Files: []uintptr{uintptr(stdin), uintptr(stdout), uintptr(stderr)},
		Sys:   &syscall.SysProcAttr{Setpgid: true, Credential: s.credential},
	}
	return ours, func() (int, error) {
		defer closeTheirs()
		return forkExec(cmd, attr)
	}, nil
}

// give lets commands that are not the agent's user open their streams by name: /dev/stderr, or their terminal.
func (s *spawner) give(streams ...int) error {
	if s.credential == nil {
		return nil
	}
	for _, fd := range streams {
		if err := syscall.Fchown(fd, int(s.credential.Uid), -1); err != nil {
			return fmt.Errorf("give a stream to the command's user: %w", err)
		}
	}
	return nil
}

// forkExec retries while the program's file is open for writing: a fork of another command at the wrong moment
// inherits, until its own exec, the descriptor through which this very program was just uploaded.
func forkExec(cmd command, attr *syscall.ProcAttr) (int, error) {
	for pause := time.Millisecond; ; pause *= 2 {
		pid, err := syscall.ForkExec(cmd.path, cmd.argv, attr)
		if !errors.Is(err, syscall.ETXTBSY) || pause > 64*time.Millisecond {
			return pid, startError(cmd.argv[0], err)
		}
		time.Sleep(pause)
	}
}

func startError(name string, err error) error {
	if err == nil {
		return nil
	}
	kind := ErrNoResources
	switch {
	case errors.Is(err, syscall.ENOENT):
		// The file is there, findProgram saw it: its interpreter or loader is missing.
		kind = ErrProgramNotFound
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM), errors.Is(err, syscall.ENOEXEC):
		kind = ErrNotExecutable
	case errors.Is(err, syscall.E2BIG), errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.ENOTDIR),
		// What gVisor says of an argument or a variable that is too long.
		errors.Is(err, syscall.ENAMETOOLONG):
		kind = ErrBadArgument
	}
	return fmt.Errorf("%w: start %s: %w", kind, name, err)
}

type direction int

const (
	towardsCommand direction = iota
	fromCommand
)

// newPipe makes a pipe whose end for the command blocks, as programs expect, and whose end for the agent does
// not, so that reads and writes on it can have deadlines.
func newPipe(name string, flow direction) (theirs int, ours *os.File, err error) {
	var ends [2]int
	if err := syscall.Pipe2(ends[:], syscall.O_CLOEXEC); err != nil {
		return -1, nil, fmt.Errorf("%w: make %s pipe: %w", ErrNoResources, name, err)
	}
	read, write := ends[0], ends[1]
	theirs, mine := read, write
	if flow == fromCommand {
		theirs, mine = write, read
	}
	if err := syscall.SetNonblock(mine, true); err != nil {
		syscall.Close(read)
		syscall.Close(write)
		return -1, nil, fmt.Errorf("make %s pipe non-blocking: %w", name, err)
	}
	return theirs, os.NewFile(uintptr(mine), name), nil
}
