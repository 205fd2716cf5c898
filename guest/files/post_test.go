package files

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestWriteMakesParentsAndAnswers(t *testing.T) {
	f := serve(t)
	response, body := f.post("a/b/c.txt", strings.NewReader("content"))
	f.wantStatus("write", http.StatusOK, response, body)
	path := filepath.Join(f.dir, "a/b/c.txt")
	f.wantFile(path, "content")
	f.wantNames(filepath.Dir(path), "c.txt")
	var answer []map[string]string
	if err := json.Unmarshal(body, &answer); err != nil || len(answer) != 1 {
		t.Fatalf("answer %s", body)
	}
	if row := answer[0]; row["path"] != path || row["name"] != "c.txt" || row["type"] != "file" {
		t.Errorf("answer %s", body)
	}
}

func TestWriteKeepsModeOwnerAndLinks(t *testing.T) {
	f := serve(t)
	path := f.write("script", "old", 0o4751)
	link := filepath.Join(f.dir, "link")
	if err := os.Symlink("script", link); err != nil {
		t.Fatal(err)
	}
	root := os.Getuid() == 0
	if root {
		if err := errors.Join(os.Chown(path, 1234, 4321), os.Chmod(path, 0o751|os.ModeSetuid)); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	response, body := f.post("link", strings.NewReader("new"))
	f.wantStatus("write", http.StatusOK, response, body)
	f.wantFile(path, "new")
	if target, err := os.Readlink(link); err != nil || target != "script" {
		t.Errorf("the link became %q, %v", target, err)
	}
	after, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if after.Mode() != before.Mode() {
		t.Errorf("mode %v became %v", before.Mode(), after.Mode())
	}
	if owner := after.Sys().(*syscall.Stat_t); root && (owner.Uid != 1234 || owner.Gid != 4321) {
		t.Errorf("owner became %d:%d", owner.Uid, owner.Gid)
	}
}

func TestWriteThroughALinkToNothing(t *testing.T) {
	f := serve(t)
	if err := os.Symlink("elsewhere/target", filepath.Join(f.dir, "link")); err != nil {
		t.Fatal(err)
	}
	response, body := f.post("link", strings.NewReader("new"))
	f.wantStatus("write", http.StatusOK, response, body)
	f.wantFile(filepath.Join(f.dir, "elsewhere/target"), "new")
}

func TestAnUploadThatIsCutShortLeavesTheOldFile(t *testing.T) {
	f := serve(t)
	path := f.write("file", "old", 0o644)
	broken := io.MultiReader(bytes.NewReader(make([]byte, 3<<20)), failing{})
	request, err := http.NewRequest(http.MethodPost, f.url("file"), broken)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/octet-stream")
	if response, err := f.server.Client().Do(request); err == nil {
		response.Body.Close()
		t.Fatalf("status %d", response.StatusCode)
	}
	// Waits for the handler to be done with the broken request.
	f.server.Close()
	f.wantFile(path, "old")
	f.wantNames(f.dir, "file")
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("the sender broke off") }

func TestReadersSeeTheOldFileOrTheNewOne(t *testing.T) {
	f := serve(t)
	f.write("file", strings.Repeat("a", 100_000), 0o644)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 40 {
			f.post("file", strings.NewReader(strings.Repeat(string(rune('a'+i%2)), 100_000)))
		}
	}()
	for {
		select {
		case <-done:
			f.wantNames(f.dir, "file")
			return
		default:
		}
		_, body := f.get("file")
		if len(body) != 100_000 || strings.Count(string(body), string(body[0])) != len(body) {
			t.Fatal("a part of a file was read")
		}
	}
}

func TestWhatCannotBeWritten(t *testing.T) {
	f := serve(t)
	fifo := filepath.Join(f.dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o644); err != nil {
		t.Fatal(err)
	}
	f.write("plain", "", 0o644)
	for path, status := range map[string]int{
		"":                        400,
		"a\x00b":                  400,
		strings.Repeat("x", 5000): 400,
		strings.Repeat("x", 300):  400,
		f.dir:                     400,
		"new/":                    400,
		fifo:                      400,
		"/dev/null":               400,
		"plain/below":             400,
	} {
		response, body := f.post(path, strings.NewReader("x"))
		f.wantStatus("write "+path, status, response, body)
	}
	f.wantNames(f.dir, "fifo", "plain")
	response, body := f.do(http.NewRequest(http.MethodPost, f.url("form"), strings.NewReader("x")))
	f.wantStatus("without a type", http.StatusUnsupportedMediaType, response, body)
	response, body = f.do(http.NewRequest(http.MethodDelete, f.url("plain"), nil))
	f.wantStatus("delete", http.StatusMethodNotAllowed, response, body)
}

func TestAFullDisk(t *testing.T) {
	// A tmpfs of one page; mounting needs privileges that not every tester has.
	f := serve(t)
	if err := syscall.Mount("tmpfs", f.dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("cannot mount a small file system: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(f.dir, syscall.MNT_DETACH) })
	f.write("file", "old", 0o644)
	response, body := f.post("file", bytes.NewReader(make([]byte, 1<<20)))
	f.wantStatus("write", http.StatusInsufficientStorage, response, body)
	f.wantFile(filepath.Join(f.dir, "file"), "old")
	f.wantNames(f.dir, "file")
}
