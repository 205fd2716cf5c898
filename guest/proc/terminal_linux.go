package proc

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"syscall"
	"unsafe"
)

// Size is that of a terminal, in characters.
type Size struct {
	Cols, Rows uint32
}

func (s Size) check() error {
	if s.Cols < 1 || s.Rows < 1 || s.Cols > math.MaxUint16 || s.Rows > math.MaxUint16 {
		return fmt.Errorf("%w: a terminal of %d columns and %d rows", ErrBadArgument, s.Cols, s.Rows)
	}
	return nil
}

// terminal is the agent's end of a command's terminal; a nil *terminal belongs to a command that has none.
type terminal struct {
	master *os.File
}

// newTerminal answers with both ends. The command's end is not made the agent's controlling terminal, which as a
// leader of a session it would otherwise become.
func newTerminal(size Size) (theirs int, ours *terminal, err error) {
	master, err := syscall.Open("/dev/ptmx", syscall.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0)
	if err != nil {
		return -1, nil, fmt.Errorf("%w: open terminal: %w", ErrNoResources, err)
	}
	ours = &terminal{os.NewFile(uintptr(master), "terminal")}
	defer func() {
		if err != nil {
			ours.close()
		}
	}()
	var number, locked int32
	if err := ours.control("unlock terminal", syscall.TIOCSPTLCK, unsafe.Pointer(&locked)); err != nil {
		return -1, nil, err
	}
	if err := ours.control("name terminal", syscall.TIOCGPTN, unsafe.Pointer(&number)); err != nil {
		return -1, nil, err
	}
	if err := ours.resize(size); err != nil {
		return -1, nil, err
	}
	path := "/dev/pts/" + strconv.Itoa(int(number))
	theirs, err = syscall.Open(path, syscall.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return -1, nil, fmt.Errorf("%w: open %s: %w", ErrNoResources, path, err)
	}
	return theirs, ours, nil
}

func (t *terminal) resize(size Size) error {
	if err := size.check(); err != nil {
		return err
	}
	window := struct{ rows, cols, width, height uint16 }{rows: uint16(size.Rows), cols: uint16(size.Cols)}
	return t.control("resize terminal", syscall.TIOCSWINSZ, unsafe.Pointer(&window))
}

// foreground is the group of processes that the terminal's keys reach; 0 when there is none.
func (t *terminal) foreground() int {
	var group int32
	if t.control("ask for the foreground", syscall.TIOCGPGRP, unsafe.Pointer(&group)) != nil {
		return 0
	}
	return int(group)
}

// close hangs up: whoever still has the terminal reads end-of-file and cannot write.
func (t *terminal) close() {
	if t != nil {
		t.master.Close()
	}
}

func (t *terminal) control(doing string, request uintptr, argument unsafe.Pointer) error {
	return t.onFd(doing, func(fd uintptr) syscall.Errno {
		_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(argument))
		return errno
	})
}

func (t *terminal) onFd(doing string, call func(fd uintptr) syscall.Errno) error {
	conn, err := t.master.SyscallConn()
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	var errno syscall.Errno
	err = conn.Control(func(fd uintptr) { errno = call(fd) })
	if err != nil {
		// All that Control can say by itself.
		return fmt.Errorf("%w: it was hung up: %w", ErrNoTerminal, err)
	}
	if errno != 0 {
		return fmt.Errorf("%s: %w", doing, errno)
	}
	return nil
}

// Resize tells the terminal its size, and the processes in its foreground that it has changed.
func (p *Process) Resize(size Size) error {
	if p.terminal == nil {
		return fmt.Errorf("%w: the command was started without one", ErrNoTerminal)
	}
	if err := p.terminal.resize(size); err != nil {
		return err
	}
	// Not every kernel signals a change that came from this end; a second signal changes nothing.
	if group := p.terminal.foreground(); group > 1 && !p.left.Load() {
		_ = syscall.Kill(-group, syscall.SIGWINCH)
	}
	return nil
}

// signalJobs reaches the jobs of a terminal: each is a process group of its own in the session of its shell. Only
// while the shell, whose pid is the session's number, is there: the number is free for others afterwards.
func (p *Process) signalJobs(number syscall.Signal) {
	if p.terminal == nil || p.left.Load() {
		return
	}
	// Not being able to look is not being able to reach: the shell itself has its signal.
	there, _ := population()
	reached := map[int]bool{p.Pid: true}
	for _, one := range there {
		if one.session == p.Pid && one.group > 1 && !reached[one.group] {
			reached[one.group] = true
			_ = syscall.Kill(-one.group, number)
		}
	}
}
