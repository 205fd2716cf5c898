package proc

import (
	"bytes"
	"fmt"
	"os"
	"testing"
)

// failing breaks the log's file for writing; what is in it can still be read.
func failing(t *testing.T, l *outputLog) {
	t.Helper()
	path := fmt.Sprintf("/proc/self/fd/%d", l.file.file.Fd())
	readOnly, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	l.file.close()
	l.file.file = readOnly
}

func TestAFileThatCannotBeWrittenSendsTheLogBackIntoMemory(t *testing.T) {
	l := newOutputLog([]string{t.TempDir()})
	before := expectedOutput(3 * memoryCapacity)
	for at := 0; at < len(before); at += pumpBuffer {
		l.append(Stdout, before[at:min(at+pumpBuffer, len(before))])
	}
	failing(t, l)
	l.append(Stderr, []byte("more"))
	stdout, stderr, skipped := readAll(l, 0)
	lost := len(before) + 4 - memoryCapacity
	if skipped != uint64(lost) || !bytes.Equal(stdout, before[lost:]) || string(stderr) != "more" {
		t.Errorf("%d skipped (want %d), %d bytes, %q", skipped, lost, len(stdout), stderr)
	}
	if _, disk := l.footprint(); disk != 0 || l.file != nil {
		t.Errorf("%d bytes on disk", disk)
	}
}

func TestAHolderLosesNothingWhenTheFileFails(t *testing.T) {
	l := newOutputLog([]string{t.TempDir()})
	l.hold(0)
	before := expectedOutput(3 * memoryCapacity)
	for at := 0; at < len(before); at += memoryCapacity {
		l.append(Stdout, before[at:at+memoryCapacity])
	}
	failing(t, l)
	appended := make(chan struct{})
	go func() {
		l.append(Stdout, []byte("more"))
		close(appended)
	}()
	var got []byte
	buffer := make([]byte, 100_000)
	for len(got) < len(before)+4 {
		_, n, skipped, changed := l.readAt(uint64(len(got)), buffer)
		if skipped > 0 {
			t.Fatalf("%d skipped at %d", skipped, len(got))
		}
		got = append(got, buffer[:n]...)
		l.hold(uint64(len(got)))
		if n == 0 {
			<-changed
		}
	}
	<-appended
	if !bytes.Equal(got, append(before, "more"...)) {
		t.Error("not what was written")
	}
}

func TestAFileThatCannotBeReadIsOutputLost(t *testing.T) {
	l := newOutputLog([]string{t.TempDir()})
	l.append(Stdout, make([]byte, memoryCapacity))
	l.append(Stdout, []byte("more"))
	if err := l.file.file.Truncate(0); err != nil {
		t.Fatal(err)
	}
	if stdout, _, skipped := readAll(l, 10); len(stdout) != 0 || skipped != memoryCapacity-6 {
		t.Errorf("%d bytes, %d skipped", len(stdout), skipped)
	}
	l.append(Stdout, []byte("later"))
	if stdout, _, skipped := readAll(l, memoryCapacity+4); string(stdout) != "later" || skipped != 0 {
		t.Errorf("%q, %d skipped", stdout, skipped)
	}
}

func TestTheFileHasNoName(t *testing.T) {
	dir := t.TempDir()
	l := newOutputLog([]string{dir})
	l.append(Stdout, make([]byte, memoryCapacity))
	l.append(Stdout, []byte("more"))
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 0 || l.file == nil {
		t.Errorf("%v, %v", entries, err)
	}
}
