package memory

import (
	"os"
	"path/filepath"
	"testing"
)

func TestBothVersionsOfControlGroupsAreRead(t *testing.T) {
	unified, first := t.TempDir(), t.TempDir()
	write := func(dir, name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := findCgroup(unified, first); err == nil {
		t.Error("found one where there is none")
	}
	expect := func(used, kills uint64) {
		t.Helper()
		group, err := findCgroup(unified, first)
		if err != nil {
			t.Fatal(err)
		}
		gotUsed, errUsed := group.Usage()
		gotKills, errKills := group.Kills()
		if gotUsed != used || gotKills != kills || errUsed != nil || errKills != nil {
			t.Errorf("%d, %d, %v, %v", gotUsed, gotKills, errUsed, errKills)
		}
	}
	write(first, "memory.stat", "cache 900\nrss 1\nshmem 2\ntotal_cache 900\ntotal_rss 30\ntotal_shmem 4\n")
	write(first, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n")
	expect(34, 5)
	write(unified, "memory.stat", "anon 600\nfile 5000\nkernel 1\nshmem 7\n")
	write(unified, "memory.events", "low 0\nhigh 0\nmax 9\noom 3\noom_kill 2\n")
	expect(607, 2)
}
