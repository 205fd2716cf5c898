package memory

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// meminfoFile is opened once, and read from its beginning each time by a single system call: where a hundred processes
// grow, each call of the agent's waits for its turn among them.
var meminfoFile = sync.OnceValues(func() (int, error) {
	file, err := syscall.Open("/proc/meminfo", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open meminfo: %w", err)
	}
	return file, nil
})

// usage is what processes and file systems in memory hold; files that are only cached can be given up any time.
func usage() (uint64, error) {
	file, err := meminfoFile()
	if err != nil {
		return 0, err
	}
	text := make([]byte, 4096)
	length, err := syscall.Pread(file, text, 0)
	if err != nil {
		return 0, fmt.Errorf("read meminfo: %w", err)
	}
	return parseUsage(text[:length])
}

// parseUsage adds up what cannot be taken back. Under Linux and gVisor alike, "anon" counts the pages of processes
// and of tmpfs; gVisor knows no "Unevictable", where Linux counts what is locked.
func parseUsage(text []byte) (uint64, error) {
	wanted := map[string]bool{"Active(anon)": true, "Inactive(anon)": true, "Unevictable": true}
	var total uint64
	found := 0
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		if !wanted[name] {
			continue
		}
		kilobytes, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("meminfo: %w", err)
		}
		total += kilobytes << 10
		found++
	}
	if found != len(wanted) {
		return 0, fmt.Errorf("meminfo: %d of %d figures are missing", len(wanted)-found, len(wanted))
	}
	return total, nil
}
