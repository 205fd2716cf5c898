package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// kernelThread is the flag of processes that are the kernel's own and cannot be ended: PF_KTHREAD.
const kernelThread = 0x00200000

// inhabitant is a process of the sandbox, as /proc shows it.
type inhabitant struct {
	pid, parent, group, session int
	state                       byte
	flags                       uint64
}

// population lists the processes that end with the sandbox: as PID 1, every one that is not the agent, a bridge or
// the kernel's. An agent that is not PID 1 shares its namespace with others, and lists its descendants only; those
// include the daemonised ones, which it inherits as a reaper of orphans. What has ended and waits to be reaped is
// left out.
func population() ([]inhabitant, error) {
	self := os.Getpid()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	all := make(map[int]inhabitant, len(entries))
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == self {
			continue
		}
		one, err := lookAt(pid)
		switch {
		case isGone(err):
		case err != nil:
			return nil, err
		default:
			all[pid] = one
		}
	}
	isOurs := func(one inhabitant) bool { return descends(one, self, all) }
	if ownsNamespace() {
		isOurs = func(one inhabitant) bool { return !isBridge(one.pid) }
	}
	var ours []inhabitant
	for _, one := range all {
		ended := one.state == 'Z' || one.state == 'X'
		if !ended && one.flags&kernelThread == 0 && isOurs(one) {
			ours = append(ours, one)
		}
	}
	return ours, nil
}

// ownsNamespace is true when the agent is PID 1 and /proc shows the namespace that it is PID 1 of: then every process
// in there belongs to the sandbox.
func ownsNamespace() bool {
	if os.Getpid() != 1 {
		return false
	}
	shown, err := os.Readlink("/proc/self")
	return err == nil && shown == "1"
}

func descends(one inhabitant, from int, all map[int]inhabitant) bool {
	// A chain of parents cannot be longer than there are processes; a listing that is not of one moment may still
	// show a circle.
	for range len(all) {
		if one.parent == from {
			return true
		}
		parent, known := all[one.parent]
		if !known {
			return false
		}
		one = parent
	}
	return false
}

// isBridge tells the agent's own bridges: through one of them the host is listening.
func isBridge(pid int) bool {
	own, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return false
	}
	program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil || program != own {
		return false
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	arguments := bytes.Split(line, []byte{0})
	return err == nil && len(arguments) > 1 && string(arguments[1]) == "bridge"
}

func lookAt(pid int) (inhabitant, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return inhabitant{}, err
	}
	return parseStat(pid, string(text))
}

// parseStat reads "pid (name) state parent group session terminal foreground flags …". The name may hold anything,
// also parentheses.
func parseStat(pid int, text string) (inhabitant, error) {
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 7 || len(fields[0]) != 1 {
		return inhabitant{}, fmt.Errorf("process %d: unexpected status %q", pid, text)
	}
	parent, err1 := strconv.Atoi(fields[1])
	group, err2 := strconv.Atoi(fields[2])
	session, err3 := strconv.Atoi(fields[3])
	flags, err4 := strconv.ParseUint(fields[6], 10, 64)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return inhabitant{}, fmt.Errorf("process %d: %w", pid, err)
	}
	return inhabitant{pid, parent, group, session, fields[0][0], flags}, nil
}

// isGone: a process may end between the listing and a closer look.
func isGone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
}
