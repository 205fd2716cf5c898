package files

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func serveOwned(t *testing.T) fixture {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	dir := t.TempDir()
	server := httptest.NewServer(Handler{Workdir: dir, Owner: &Owner{UID: 12345, GID: 12346}})
	t.Cleanup(server.Close)
	return fixture{t, server, dir}
}

func (f fixture) wantOwner(path string, uid, gid uint32) {
	f.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		f.Fatal(err)
	}
	if owner := info.Sys().(*syscall.Stat_t); owner.Uid != uid || owner.Gid != gid {
		f.Errorf("%s belongs to %d:%d, want %d:%d", path, owner.Uid, owner.Gid, uid, gid)
	}
}

func TestNewFilesAndTheirNewParentsHaveTheOwner(t *testing.T) {
	f := serveOwned(t)
	if err := os.Mkdir(filepath.Join(f.dir, "there"), 0o755); err != nil {
		t.Fatal(err)
	}
	response, body := f.post("there/a//b/file", strings.NewReader("x"))
	f.wantStatus("post", http.StatusOK, response, body)
	f.wantOwner(filepath.Join(f.dir, "there"), 0, 0)
	for _, path := range []string{"there/a", "there/a/b", "there/a/b/file"} {
		f.wantOwner(filepath.Join(f.dir, path), 12345, 12346)
	}
}

func TestAReplacedFileKeepsItsOwner(t *testing.T) {
	f := serveOwned(t)
	path := f.write("file", "old", 0o644)
	response, body := f.post("file", strings.NewReader("new"))
	f.wantStatus("post", http.StatusOK, response, body)
	f.wantOwner(path, 0, 0)
	f.wantFile(path, "new")
}

func TestAFileInTheWayOfAnOwnedDirectory(t *testing.T) {
	f := serveOwned(t)
	f.write("file", "x", 0o644)
	response, body := f.post("file/below/it", strings.NewReader("x"))
	f.wantStatus("post", http.StatusBadRequest, response, body)
	f.wantNames(f.dir, "file")
}
