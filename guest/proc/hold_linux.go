package proc

import (
	"cmp"
	"os"
	"slices"
	"strconv"
	"syscall"
)

// releasedAtOnce is how many go on before it is asked whether the others may.
const releasedAtOnce = 4

// Hold stops every process of the sandbox but the agent, by one system call: as many as there may be, none goes on
// for long. One that was just being forked may be missed, so whoever needs them all to stand still holds them again.
// An agent that shares its namespace with others holds nobody.
func Hold() {
	if ownsNamespace() {
		// That there is nobody is no failure.
		_ = syscall.Kill(-1, syscall.SIGSTOP)
	}
}

// Release lets them go on as long as `more` agrees, and answers whether all do. It asks again and again, for those that
// go on keep it from getting to the others.
func Release(more func() bool) bool {
	if !ownsNamespace() {
		return true
	}
	// Children before their parents, which mostly are the older ones: a shell that goes on first would see that its
	// child is stopped, and take that for the user's wish.
	for i, pid := range heldPids() {
		if i > 0 && i%releasedAtOnce == 0 && !more() {
			return false
		}
		// One that is gone needs nothing.
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
	// Whoever was missed.
	_ = syscall.Kill(-1, syscall.SIGCONT)
	return true
}

// heldPids is empty where they cannot be listed: then all go on at once.
func heldPids() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	slices.SortFunc(pids, func(a, b int) int { return cmp.Compare(b, a) })
	return pids
}
