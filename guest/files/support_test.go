package files

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type fixture struct {
	*testing.T
	server *httptest.Server
	dir    string
}

func serve(t *testing.T) fixture {
	dir := t.TempDir()
	server := httptest.NewServer(Handler{Workdir: dir})
	t.Cleanup(server.Close)
	return fixture{t, server, dir}
}

func (f fixture) url(path string) string {
	return f.server.URL + "/files?path=" + url.QueryEscape(path)
}

func (f fixture) do(request *http.Request, err error) (*http.Response, []byte) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
	response, err := f.server.Client().Do(request)
	if err != nil {
		f.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		f.Fatalf("%s: read answer: %v", request.URL, err)
	}
	return response, body
}

func (f fixture) get(path string) (*http.Response, []byte) {
	f.Helper()
	return f.do(http.NewRequest(http.MethodGet, f.url(path), nil))
}

func (f fixture) post(path string, content io.Reader) (*http.Response, []byte) {
	f.Helper()
	request, err := http.NewRequest(http.MethodPost, f.url(path), content)
	if err == nil {
		request.Header.Set("Content-Type", "application/octet-stream")
	}
	return f.do(request, err)
}

func (f fixture) wantStatus(what string, status int, response *http.Response, body []byte) {
	f.Helper()
	if response.StatusCode != status {
		f.Errorf("%s: status %d, want %d: %s", what, response.StatusCode, status, body)
		return
	}
	var answer struct {
		Code    int
		Message string
	}
	if status >= 400 && (json.Unmarshal(body, &answer) != nil || answer.Code != status || answer.Message == "") {
		f.Errorf("%s: answer %s", what, body)
	}
}

func (f fixture) write(name, content string, mode os.FileMode) string {
	f.Helper()
	path := filepath.Join(f.dir, name)
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		f.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		f.Fatal(err)
	}
	return path
}

func (f fixture) wantFile(path, content string) {
	f.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != content {
		f.Errorf("%s: %q, %v", path, got, err)
	}
}

// names lists a directory; a temporary file left behind would show.
func (f fixture) wantNames(dir string, want ...string) {
	f.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		f.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if strings.Join(names, " ") != strings.Join(want, " ") {
		f.Errorf("%s holds %q, want %q", dir, names, want)
	}
}
