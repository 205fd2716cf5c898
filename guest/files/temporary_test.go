package files

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// during calls look when a write to path has begun and is not finished.
func (f fixture) during(path string, look func()) {
	f.Helper()
	reader, writer := io.Pipe()
	go func() {
		// More than is held back before the first write to the file.
		writer.Write(make([]byte, 2*writeBuffer))
		look()
		writer.Close()
	}()
	response, body := f.post(path, reader)
	f.wantStatus("write", http.StatusOK, response, body)
}

func temporariesIn(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, ".emergent-*.tmp"))
	if err != nil {
		t.Error(err)
	}
	return found
}

func TestAWriteIsUnderWayInTheWorkdirWhichIsWhereItIsSweptFrom(t *testing.T) {
	f := serve(t)
	f.during("a/b/file", func() {
		if beside := temporariesIn(t, filepath.Join(f.dir, "a/b")); len(beside) != 0 {
			t.Errorf("beside the target: %q", beside)
		}
		if found := temporariesIn(t, f.dir); len(found) != 1 || !isTemporary(filepath.Base(found[0])) {
			t.Errorf("in the working directory: %q", found)
		}
	})
	f.wantNames(f.dir, "a")
}

func TestAWriteToAnotherFileSystemIsUnderWayThere(t *testing.T) {
	f := serve(t)
	elsewhere, err := os.MkdirTemp("/dev/shm", "files-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(elsewhere) })
	f.during(filepath.Join(elsewhere, "file"), func() {
		if found := temporariesIn(t, elsewhere); len(found) != 1 {
			t.Errorf("beside the target: %q", found)
		}
	})
	f.wantNames(elsewhere, "file")
}

func TestSweepTakesOnlyWhatIsOurs(t *testing.T) {
	f := serve(t)
	random := strings.Repeat("A7", randomLength/2)
	kept := []string{
		".emergent-" + random + ".tmp.txt", ".emergent-" + random[1:] + ".tmp", ".emergent-notes.tmp",
		".emergent-" + strings.ToLower(random) + ".tmp", "x.emergent-" + random + ".tmp",
	}
	for _, name := range append(kept, ".emergent-"+random+".tmp") {
		f.write(name, "x", 0o600)
	}
	directory := ".emergent-" + strings.Repeat("B", randomLength) + ".tmp"
	if err := os.Mkdir(filepath.Join(f.dir, directory), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Sweep(f.dir); err != nil {
		t.Error(err)
	}
	for _, name := range append(kept, directory) {
		if _, err := os.Lstat(filepath.Join(f.dir, name)); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Lstat(filepath.Join(f.dir, ".emergent-"+random+".tmp")); err == nil {
		t.Error("ours is still there")
	}
	if err := Sweep(filepath.Join(f.dir, "nowhere")); err == nil {
		t.Error("no directory, and no error")
	}
}

func TestANewFileHasTheGroupOfADirectoryThatHandsItDown(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	f := serve(t)
	dir := filepath.Join(f.dir, "shared")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, 0, 12346); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755|os.ModeSetgid); err != nil {
		t.Fatal(err)
	}
	response, body := f.post("shared/file", strings.NewReader("x"))
	f.wantStatus("write", http.StatusOK, response, body)
	f.wantOwner(filepath.Join(dir, "file"), 0, 12346)
}

func TestAWriteIntoAnotherMountOfTheSameFileSystem(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount")
	}
	dir := t.TempDir()
	for _, name := range []string{"real", "mounted"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	target := filepath.Join(dir, "mounted", "file")
	if err := os.WriteFile(filepath.Join(dir, "real", "file"), []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	written := make(chan error)
	go func() {
		// Never unlocked: the thread, and with it the namespace, ends with the goroutine.
		runtime.LockOSThread()
		written <- func() error {
			if err := syscall.Unshare(syscall.CLONE_NEWNS); err != nil {
				return err
			}
			if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
				return err
			}
			if err := syscall.Mount(filepath.Join(dir, "real"), filepath.Dir(target), "", syscall.MS_BIND, ""); err != nil {
				return err
			}
			_, err := Handler{Workdir: dir}.replace(target, strings.NewReader("new"), "")
			return err
		}()
	}()
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	f := fixture{t, nil, dir}
	f.wantFile(filepath.Join(dir, "real", "file"), "new")
	if info, err := os.Stat(filepath.Join(dir, "real", "file")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info, err)
	}
	f.wantNames(filepath.Join(dir, "real"), "file")
	f.wantNames(dir, "mounted", "real")
}
