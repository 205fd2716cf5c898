package proc

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// readAll gathers what the log holds from place on.
func readAll(l *outputLog, place uint64) (stdout, stderr []byte, skipped uint64) {
	buffer := make([]byte, 10_000)
	for {
		source, n, lost, _ := l.readAt(place, buffer)
		skipped += lost
		place += lost + uint64(n)
		if n == 0 {
			return stdout, stderr, skipped
		}
		if source == Stdout {
			stdout = append(stdout, buffer[:n]...)
		} else {
			stderr = append(stderr, buffer[:n]...)
		}
	}
}

// noDirs leaves a log without a place for its file: it stays in memory.
var noDirs []string

func TestLogKeepsTheNewestOutputOfBothSources(t *testing.T) {
	for name, row := range map[string]struct {
		dirs            []string
		write, capacity int
	}{
		"in memory":             {noDirs, 3 * memoryCapacity, memoryCapacity},
		"in a file":             {[]string{"/no/such", t.TempDir()}, 3 * memoryCapacity, fileCapacity},
		"in a file gone around": {[]string{t.TempDir()}, fileCapacity + 5*memoryCapacity, fileCapacity},
	} {
		t.Run(name, func(t *testing.T) {
			keepsTheNewest(t, newOutputLog(row.dirs), row.write, row.capacity)
		})
	}
}

func keepsTheNewest(t *testing.T, l *outputLog, write, capacity int) {
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 1<<20)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	type piece struct {
		source Source
		data   []byte
	}
	var pieces []piece
	total := 0
	for total < write {
		size, at := 1+random.IntN(40_000), random.IntN(900_000)
		next := piece{Source(random.IntN(2)), noise[at : at+size]}
		l.append(next.source, next.data)
		pieces = append(pieces, next)
		total += size
	}
	lost := max(0, total-capacity)
	var want [2][]byte
	place := 0
	for _, p := range pieces {
		gone := min(max(0, lost-place), len(p.data))
		want[p.source] = append(want[p.source], p.data[gone:]...)
		place += len(p.data)
	}
	stdout, stderr, skipped := readAll(l, 0)
	if skipped != uint64(lost) || !bytes.Equal(stdout, want[Stdout]) || !bytes.Equal(stderr, want[Stderr]) {
		t.Errorf("skipped %d (want %d), %d+%d bytes read", skipped, lost, len(stdout), len(stderr))
	}
}

func TestLogBoundsItsBookkeeping(t *testing.T) {
	l := newOutputLog(noDirs)
	for i := range 3 * maxRuns {
		l.append(Source(i%2), []byte{byte(i)})
	}
	if len(l.runs) > maxRuns {
		t.Errorf("%d segments", len(l.runs))
	}
	stdout, stderr, skipped := readAll(l, 0)
	if total := uint64(len(stdout)+len(stderr)) + skipped; total != 3*maxRuns {
		t.Errorf("%d bytes accounted for", total)
	}
}

func TestAppendWaitsForTheHolder(t *testing.T) {
	l := newOutputLog(noDirs)
	l.hold(0)
	l.append(Stdout, make([]byte, memoryCapacity))
	appended := make(chan struct{})
	go func() {
		l.append(Stderr, []byte("more"))
		close(appended)
	}()
	stdout, stderr, skipped := readAll(l, 0)
	if len(stdout) != memoryCapacity || stderr != nil || skipped != 0 {
		t.Fatalf("%d and %d bytes, %d skipped", len(stdout), len(stderr), skipped)
	}
	select {
	case <-appended:
		t.Fatal("append overran the holder")
	default:
	}
	l.hold(4)
	<-appended
	if _, stderr, skipped := readAll(l, 4); string(stderr) != "more" || skipped != 0 {
		t.Errorf("%q, %d skipped", stderr, skipped)
	}
}

func TestReleaseLetsAppendGo(t *testing.T) {
	l := newOutputLog(noDirs)
	l.hold(0)
	l.append(Stdout, make([]byte, memoryCapacity))
	appended := make(chan struct{})
	go func() {
		l.append(Stdout, []byte("more"))
		close(appended)
	}()
	l.release()
	<-appended
	if _, _, skipped := readAll(l, 0); skipped != 4 {
		t.Errorf("%d skipped", skipped)
	}
}

func TestAQuietCommandsLogIsSmall(t *testing.T) {
	l := newOutputLog([]string{t.TempDir()})
	if memory, disk := l.footprint(); memory != 0 || disk != 0 {
		t.Errorf("an empty log occupies %d bytes, and %d on disk", memory, disk)
	}
	l.append(Stdout, []byte("x"))
	if memory, disk := l.footprint(); memory > memoryFirstRing+8 || disk != 0 {
		t.Errorf("one byte occupies %d, and %d on disk", memory, disk)
	}
	l.append(Stdout, make([]byte, memoryCapacity))
	if memory, disk := l.footprint(); memory > 8 || disk != memoryCapacity+1 {
		t.Errorf("more than fits into memory occupies %d of it, and %d on disk", memory, disk)
	}
}
