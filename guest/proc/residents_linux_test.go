package proc

import (
	"os"
	"testing"
)

func TestLargestListsTheAgentsOwnBySize(t *testing.T) {
	table := newTable(t)
	small, _ := start(t, table, Spec{Cmd: "sleep", Args: []string{"1000"}, Tag: "small"})
	// It holds 64 MiB before it says so.
	script := "import sys; b = b'x' * (64 << 20); print('up', flush=True); sys.stdin.read()"
	large, reader := start(t, table, Spec{Cmd: "python3", Args: []string{"-c", script}, Stdin: true})
	firstLine(t, reader)
	there, err := Largest(100)
	if err != nil {
		t.Fatal(err)
	}
	at := map[int]int{}
	for i, one := range there {
		at[one.Pid] = i
		if one.Pid == os.Getpid() {
			t.Error("the agent itself is listed")
		}
	}
	first, second := there[at[large.Pid]], there[at[small.Pid]]
	if first.Pid != large.Pid || second.Pid != small.Pid || at[large.Pid] > at[small.Pid] {
		t.Fatalf("%+v", there)
	}
	if first.Rss < 64<<20 || first.Name != "python3" || first.Group != large.Pid || first.Started < second.Started {
		t.Errorf("%+v", first)
	}
	// What it holds may be another amount by now: the kernel takes pages back when it likes.
	if one, err := Largest(1); err != nil || len(one) != 1 || one[0].Pid != first.Pid {
		t.Errorf("%+v, %v", one, err)
	}
	if tag := table.TagOf(small.Pid); tag != "small" {
		t.Errorf("%q", tag)
	}
	if tag := table.TagOf(large.Pid) + table.TagOf(1<<30); tag != "" {
		t.Errorf("%q", tag)
	}
}

func TestWhoSharesItsNamespaceHoldsNobody(t *testing.T) {
	table := newTable(t)
	Hold()
	defer Release(func() bool { return false })
	_, reader := start(t, table, Spec{Cmd: "echo", Args: []string{"runs"}})
	firstLine(t, reader)
}

func TestANameMayHoldAnything(t *testing.T) {
	text := "7 (a) b (c)) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0\n"
	name, started, err := nameAndStart(text)
	if err != nil || name != "a) b (c)" || started != 4711 {
		t.Errorf("%q, %d, %v", name, started, err)
	}
	if _, _, err := nameAndStart("7 (a) S 1 7"); err == nil {
		t.Error("accepted")
	}
}
