package memory

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Where an engine shows a container its own control group; the second is of version 1, which has one per resource.
const (
	cgroupDir   = "/sys/fs/cgroup"
	cgroupDirV1 = "/sys/fs/cgroup/memory"
)

// Cgroup is the sandbox's control group: what tells of its memory where the kernel is the host's, whose own memory is
// in /proc/meminfo.
type Cgroup struct {
	stat, kills string
	// figures add up to what cannot be taken back.
	figures []string
}

// FindCgroup fails where the kernel shows none.
func FindCgroup() (Cgroup, error) { return findCgroup(cgroupDir, cgroupDirV1) }

func findCgroup(dir, dirV1 string) (Cgroup, error) {
	unified := Cgroup{
		stat: filepath.Join(dir, "memory.stat"), kills: filepath.Join(dir, "memory.events"),
		figures: []string{"anon", "shmem"},
	}
	first := Cgroup{
		stat: filepath.Join(dirV1, "memory.stat"), kills: filepath.Join(dirV1, "memory.oom_control"),
		figures: []string{"total_rss", "total_shmem"},
	}
	for _, one := range []Cgroup{unified, first} {
		if _, err := one.Usage(); err == nil {
			return one, nil
		}
	}
	return Cgroup{}, fmt.Errorf("no memory control group at %s or %s", dir, dirV1)
}

// Usage is what processes and file systems in memory hold.
func (c Cgroup) Usage() (uint64, error) {
	return sum(c.stat, c.figures...)
}

// Kills is how often the kernel has ended a process for its memory.
func (c Cgroup) Kills() (uint64, error) {
	return sum(c.kills, "oom_kill")
}

// sum adds up figures of a file with a name and a number on each line.
func sum(path string, figures ...string) (uint64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	values := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		values[name] = value
	}
	var total uint64
	for _, name := range figures {
		value, err := strconv.ParseUint(values[name], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %s: %w", path, name, err)
		}
		total += value
	}
	return total, nil
}
