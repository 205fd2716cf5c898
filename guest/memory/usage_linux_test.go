package memory

import "testing"

// As gVisor tells it, with 50 MB in a file on tmpfs.
const meminfo = `MemTotal:         524288 kB
MemFree:          356352 kB
Cached:            60416 kB
Active:           161792 kB
Inactive:           4096 kB
Active(anon):     156672 kB
Inactive(anon):        0 kB
Active(file):       4608 kB
Inactive(file):     4608 kB
Unevictable:           0 kB
Shmem:             51200 kB
`

func TestCachedFilesAreNotUsed(t *testing.T) {
	if used, err := parseUsage([]byte(meminfo)); err != nil || used != 156672<<10 {
		t.Errorf("%d, %v", used, err)
	}
}

func TestWhatCannotBeReadIsAnError(t *testing.T) {
	for _, text := range []string{"", "Active(anon): 1 kB\nInactive(anon): 2 kB\n", "Active(anon): x kB\n"} {
		if used, err := parseUsage([]byte(text)); err == nil {
			t.Errorf("%q: %d", text, used)
		}
	}
}

func TestTheSystemAtHandCanBeRead(t *testing.T) {
	if used, err := usage(); err != nil || used == 0 {
		t.Errorf("%d, %v", used, err)
	}
}
