package proc

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// readAll gathers what the log holds from place on.
func readAll(l *outputLog, place uint64) (stdout, stderr []byte, skipped uint64) {
	buffer := make([]byte, 1000)
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

func TestLogKeepsTheNewestOutputOfBothSources(t *testing.T) {
	l := newOutputLog()
	random := rand.New(rand.NewPCG(1, 2))
	var sources []Source
	var written []byte
	for len(written) < 3*logCapacity {
		piece := make([]byte, 1+random.IntN(40_000))
		source := Source(random.IntN(2))
		for i := range piece {
			piece[i] = byte(random.Uint32())
			sources = append(sources, source)
		}
		l.append(source, piece)
		written = append(written, piece...)
	}
	lost := len(written) - logCapacity
	var wantOut, wantErr []byte
	for i := lost; i < len(written); i++ {
		if sources[i] == Stdout {
			wantOut = append(wantOut, written[i])
		} else {
			wantErr = append(wantErr, written[i])
		}
	}
	stdout, stderr, skipped := readAll(l, 0)
	if skipped != uint64(lost) || !bytes.Equal(stdout, wantOut) || !bytes.Equal(stderr, wantErr) {
		t.Errorf("skipped %d (want %d), %d+%d bytes read", skipped, lost, len(stdout), len(stderr))
	}
}

func TestLogBoundsItsBookkeeping(t *testing.T) {
	l := newOutputLog()
	for i := range 3 * logMaxSegments {
		l.append(Source(i%2), []byte{byte(i)})
	}
	if len(l.segments) > logMaxSegments {
		t.Errorf("%d segments", len(l.segments))
	}
	stdout, stderr, skipped := readAll(l, 0)
	if total := uint64(len(stdout)+len(stderr)) + skipped; total != 3*logMaxSegments {
		t.Errorf("%d bytes accounted for", total)
	}
}

func TestAppendWaitsForTheHolder(t *testing.T) {
	l := newOutputLog()
	l.hold(0)
	l.append(Stdout, make([]byte, logCapacity))
	appended := make(chan struct{})
	go func() {
		l.append(Stderr, []byte("more"))
		close(appended)
	}()
	stdout, stderr, skipped := readAll(l, 0)
	if len(stdout) != logCapacity || stderr != nil || skipped != 0 {
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
	l := newOutputLog()
	l.hold(0)
	l.append(Stdout, make([]byte, logCapacity))
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
	l := newOutputLog()
	if l.size() != 0 {
		t.Errorf("an empty log occupies %d bytes", l.size())
	}
	l.append(Stdout, []byte("x"))
	if l.size() != logFirstRing {
		t.Errorf("one byte occupies %d", l.size())
	}
}
