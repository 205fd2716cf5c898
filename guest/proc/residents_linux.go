package proc

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Resident is a process of the sandbox, and the memory that it holds.
type Resident struct {
	Pid, Group int
	// What it calls itself, up to 15 bytes of anything.
	Name string
	// Rises with the time of its start.
	Started uint64
	Rss     uint64
}

// Largest lists the processes that hold most memory, largest first. Who counts is who ends with the sandbox: neither
// the agent nor its bridges. It looks closely at no more of them than it answers with, for where memory runs out there
// may be thousands, and system calls are slow inside a sandbox.
func Largest(most int) ([]Resident, error) {
	pids, err := candidates()
	if err != nil {
		return nil, err
	}
	all := make([]Resident, 0, len(pids))
	for _, pid := range pids {
		rss, err := residentBytes(pid)
		switch {
		case isGone(err):
		case err != nil:
			return nil, err
		default:
			all = append(all, Resident{Pid: pid, Rss: rss})
		}
	}
	slices.SortFunc(all, func(a, b Resident) int {
		return cmp.Or(cmp.Compare(b.Rss, a.Rss), cmp.Compare(b.Pid, a.Pid))
	})
	var largest []Resident
	for _, one := range all {
		if len(largest) == most {
			break
		}
		seen, counts, err := closeLook(one)
		if err != nil {
			return largest, err
		}
		if counts {
			largest = append(largest, seen)
		}
	}
	return largest, nil
}

// candidates are all processes but the agent where all are the sandbox's, and the agent's descendants elsewhere.
func candidates() ([]int, error) {
	var pids []int
	if !ownsNamespace() {
		there, err := population()
		for _, one := range there {
			pids = append(pids, one.pid)
		}
		return pids, err
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

func residentBytes(pid int) (uint64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	// "size resident shared …", in pages.
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0, fmt.Errorf("process %d: unexpected memory status %q", pid, text)
	}
	pages, err := strconv.ParseUint(fields[1], 10, 64)
	return pages * uint64(os.Getpagesize()), err
}

// closeLook completes what is known of a process; false: it is gone, or not one that counts.
func closeLook(one Resident) (Resident, bool, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", one.Pid))
	if isGone(err) {
		return one, false, nil
	}
	if err != nil {
		return one, false, err
	}
	status, err := parseStat(one.Pid, string(text))
	if err != nil {
		return one, false, err
	}
	one.Group = status.group
	one.Name, one.Started, err = nameAndStart(string(text))
	ended := status.state == 'Z' || status.state == 'X'
	return one, !ended && status.flags&kernelThread == 0 && !isBridge(one.Pid), err
}

// nameAndStart reads the second and the 22nd field of a status that parseStat has accepted.
func nameAndStart(text string) (string, uint64, error) {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	fields := strings.Fields(text[end+1:])
	const started = 22 - 3
	if open < 0 || open > end || len(fields) <= started {
		return "", 0, errors.New("unexpected status of a process")
	}
	at, err := strconv.ParseUint(fields[started], 10, 64)
	return text[open+1 : end], at, err
}

// TagOf names the command that a process group is of; empty if the agent did not start it, or it has no name.
func (t *Table) TagOf(group int) string {
	process, err := t.ByPid(uint32(group))
	if err != nil {
		return ""
	}
	return process.Spec.Tag
}

// Started tells its one reader that commands have been started since it last read.
func (t *Table) Started() <-chan struct{} { return t.started }

// Deserted is true when there is nobody but the agent and its bridges.
func Deserted() bool {
	pids, err := candidates()
	if err != nil {
		return false
	}
	for _, pid := range pids {
		if !isBridge(pid) {
			return false
		}
	}
	return true
}
