package main

import (
	"os"
	"testing"
)

func TestReserveThreadsLeavesThemToTheRuntime(t *testing.T) {
	const more = 50
	before := threads(t)
	reserveThreads(before + more)
	if now := threads(t); now < before+more {
		t.Errorf("%d threads, want at least %d", now, before+more)
	}
}

func threads(t *testing.T) int {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	return len(tasks)
}
