package files

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestRead(t *testing.T) {
	f := serve(t)
	for _, size := range []int{0, 1, 4095, 4096, copyBuffer - 1, copyBuffer, copyBuffer + 1, 5_000_000} {
		content := strings.Repeat("0123456789", size/10+1)[:size]
		f.write("file", content, 0o644)
		response, body := f.get("file")
		f.wantStatus("read", http.StatusOK, response, body)
		if string(body) != content || response.Header.Get("Content-Length") != strconv.Itoa(size) {
			t.Errorf("size %d: %d bytes, length %q", size, len(body), response.Header.Get("Content-Length"))
		}
		if kind := response.Header.Get("Content-Type"); kind != "application/octet-stream" {
			t.Errorf("type %q", kind)
		}
	}
}

func TestReadOfFilesThatDoNotKnowTheirSize(t *testing.T) {
	f := serve(t)
	// More than one buffer, so that it must be streamed without a length.
	for _, path := range []string{"/proc/self/status", "/proc/kallsyms", "/sys/kernel/mm/transparent_hugepage/enabled"} {
		want, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			t.Logf("this kernel has no %s", path)
			continue
		}
		response, body := f.get(path)
		f.wantStatus(path, http.StatusOK, response, body)
		if len(body) == 0 || path != "/proc/self/status" && !bytes.Equal(body, want) {
			t.Errorf("%s: %d bytes, want %d", path, len(body), len(want))
		}
	}
}

func TestWhatCannotBeRead(t *testing.T) {
	f := serve(t)
	fifo := filepath.Join(f.dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o644); err != nil {
		t.Fatal(err)
	}
	loop := filepath.Join(f.dir, "loop")
	if err := os.Symlink("loop", loop); err != nil {
		t.Fatal(err)
	}
	f.write("plain", "", 0o644)
	for path, status := range map[string]int{
		"":                        400,
		"a\x00b":                  400,
		strings.Repeat("x", 5000): 400,
		strings.Repeat("x", 300):  400,
		f.dir:                     400,
		fifo:                      400,
		"/dev/zero":               400,
		loop:                      400,
		"missing":                 404,
		"plain/below":             404,
	} {
		response, body := f.get(path)
		f.wantStatus("read "+path, status, response, body)
	}
}

func TestADirectoryIsToldFromOtherBadRequests(t *testing.T) {
	f := serve(t)
	fifo := filepath.Join(f.dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{f.dir: "is_directory", fifo: ""} {
		for _, ask := range []func() (*http.Response, []byte){
			func() (*http.Response, []byte) { return f.get(path) },
			func() (*http.Response, []byte) { return f.post(path, strings.NewReader("x")) },
		} {
			_, body := ask()
			var answer struct{ Reason string }
			if err := json.Unmarshal(body, &answer); err != nil || answer.Reason != want {
				t.Errorf("%s: %s", path, body)
			}
		}
	}
}

func TestALargeFileIsRefusedWhereOnlyASmallOneWasAskedFor(t *testing.T) {
	f := serve(t)
	f.write("file", "12345", 0o644)
	for limit, want := range map[string]int{
		"5": http.StatusOK,
		"4": http.StatusRequestEntityTooLarge,
		"x": http.StatusBadRequest,
	} {
		request, err := http.NewRequest(http.MethodGet, f.url("file"), nil)
		if err == nil {
			request.Header.Set(inlineHeader, limit)
		}
		response, body := f.do(request, err)
		f.wantStatus("limit "+limit, want, response, body)
		if tooLarge := bytes.Contains(body, []byte(`"too_large_inline"`)); tooLarge != (want == 413) {
			t.Errorf("limit %s: %s", limit, body)
		}
	}
}

func TestErrnosHaveStatuses(t *testing.T) {
	for errno, want := range map[syscall.Errno]int{
		syscall.EACCES: 403, syscall.EROFS: 403, syscall.ENOSPC: 507, syscall.EDQUOT: 507, syscall.EIO: 500,
	} {
		if refused := explain(&os.PathError{Op: "open", Path: "x", Err: errno}); refused.status != want {
			t.Errorf("%v: %d", errno, refused.status)
		}
	}
}
