package files

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func (f fixture) postIf(path, version string, content io.Reader) (*http.Response, []byte) {
	f.Helper()
	request, err := http.NewRequest(http.MethodPost, f.url(path), content)
	if err == nil {
		request.Header.Set("Content-Type", "application/octet-stream")
		request.Header.Set("If-Match", version)
	}
	return f.do(request, err)
}

func TestAVersionIsGoodForOneWrite(t *testing.T) {
	f := serve(t)
	path := f.write("file", "one", 0o644)
	response, _ := f.get("file")
	version := response.Header.Get("ETag")
	if len(version) < 10 {
		t.Fatalf("version %q", version)
	}
	if again, _ := f.get("file"); again.Header.Get("ETag") != version {
		t.Errorf("reading changed the version to %q", again.Header.Get("ETag"))
	}
	response, body := f.postIf("file", version, strings.NewReader("two"))
	f.wantStatus("first write", http.StatusOK, response, body)
	response, body = f.postIf("file", version, strings.NewReader("six"))
	f.wantStatus("second write", http.StatusPreconditionFailed, response, body)
	f.wantFile(path, "two")
	f.wantNames(f.dir, "file")
}

func TestAVersionNeedsItsFile(t *testing.T) {
	f := serve(t)
	path := f.write("file", "one", 0o644)
	response, _ := f.get("file")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	version := response.Header.Get("ETag")
	response, body := f.postIf("file", version, strings.NewReader("two"))
	f.wantStatus("gone", http.StatusPreconditionFailed, response, body)
	response, body = f.postIf("new/file", version, strings.NewReader("two"))
	f.wantStatus("never there", http.StatusPreconditionFailed, response, body)
	f.wantNames(f.dir)
}

// The content changes the file while it is uploaded: what holds at the beginning need not hold at the end.
func TestAFileChangedDuringTheUpload(t *testing.T) {
	f := serve(t)
	path := f.write("file", "one", 0o644)
	response, _ := f.get("file")
	first := make([]byte, 3<<20)
	change := readerFunc(func([]byte) (int, error) {
		f.write("file", "meanwhile", 0o644)
		return 0, io.EOF
	})
	content := io.MultiReader(strings.NewReader(string(first)), change)
	response, body := f.postIf("file", response.Header.Get("ETag"), content)
	f.wantStatus("write", http.StatusPreconditionFailed, response, body)
	f.wantFile(path, "meanwhile")
	f.wantNames(f.dir, "file")
}

type readerFunc func([]byte) (int, error)

func (read readerFunc) Read(buffer []byte) (int, error) { return read(buffer) }

func TestOfManyWritersWithOneVersionOneWins(t *testing.T) {
	f := serve(t)
	f.write("file", "old", 0o644)
	response, _ := f.get("file")
	version := response.Header.Get("ETag")
	var wait sync.WaitGroup
	statuses := make([]int, 20)
	for i := range statuses {
		wait.Add(1)
		go func() {
			defer wait.Done()
			response, _ := f.postIf("file", version, strings.NewReader(fmt.Sprint("writer ", i)))
			statuses[i] = response.StatusCode
		}()
	}
	wait.Wait()
	won := 0
	for _, status := range statuses {
		if status == http.StatusOK {
			won++
		} else if status != http.StatusPreconditionFailed {
			t.Errorf("status %d", status)
		}
	}
	if won != 1 {
		t.Errorf("%d writers won", won)
	}
}

func TestFilesThatSayNothingOfThemselvesHaveNoVersion(t *testing.T) {
	response, _ := serve(t).get("/proc/self/status")
	if version := response.Header.Get("ETag"); version != "" {
		t.Errorf("version %q", version)
	}
}

// Within one tick of the clock, and with inode numbers used again, only the stamp tells versions apart.
func TestNoTwoWritesGiveTheSameVersion(t *testing.T) {
	f := serve(t)
	seen := map[string]bool{}
	for range 300 {
		f.post("file", strings.NewReader("same"))
		response, _ := f.get("file")
		version := response.Header.Get("ETag")
		if seen[version] {
			t.Fatalf("version %s came twice", version)
		}
		seen[version] = true
	}
}

func TestAWriteTellsWhetherTheFileIsNew(t *testing.T) {
	f := serve(t)
	for _, want := range []string{"true", "false"} {
		response, _ := f.post("a/file", strings.NewReader("x"))
		if got := response.Header.Get("X-Emergent-Created"); got != want {
			t.Errorf("created %q, want %q", got, want)
		}
	}
}

func TestListing(t *testing.T) {
	f := serve(t)
	f.write("b\nc", "", 0o644)
	f.write("\xff", "", 0o644)
	if err := os.Mkdir(filepath.Join(f.dir, "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"to-dir": "dir", "to-file": "b\nc", "to-nothing": "nothing"} {
		if err := os.Symlink(target, filepath.Join(f.dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	request, err := http.NewRequest(http.MethodGet, f.url(f.dir), nil)
	request.Header.Set("Accept", listingType)
	response, body := f.do(request, err)
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != listingType {
		t.Fatalf("status %d, %v", response.StatusCode, response.Header)
	}
	want := "b\nc\x00dir/\x00to-dir/\x00to-file\x00to-nothing\x00\xff\x00"
	if string(body) != want {
		t.Errorf("%q, want %q", body, want)
	}
	response, body = f.get(f.dir)
	f.wantStatus("not asked for a listing", http.StatusBadRequest, response, body)
}
