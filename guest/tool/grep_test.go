package tool

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestGrepFindsLines(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "b.txt", "one\ntwo needle\nthree needle needle")
	put(t, "a/c.go", "\tneedle\r\n")
	put(t, "empty", "")
	code, found, last := call(t, "grep", `{"pattern":"needle$","root":".","limit":10}`)
	got := []string{}
	for _, line := range found {
		got = append(got, fmt.Sprintf("%v:%v:%v:%v", line["path"], line["line"], line["column"], line["text"]))
	}
	want := []string{"a/c.go:1:2:\tneedle", "b.txt:2:5:two needle", "b.txt:3:14:three needle needle"}
	if code != 0 || !slices.Equal(got, want) {
		t.Errorf("exit %d, %q", code, got)
	}
	if last["files_searched"] != 3.0 || last["truncated"] != false {
		t.Errorf("%v", last)
	}
}

func TestGrepTakesAFileAsRoot(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "d/f.txt", "x\ny\n")
	_, found, _ := call(t, "grep", `{"pattern":"y","root":"d/f.txt","include":"*.go","limit":10}`)
	if len(found) != 1 || found[0]["path"] != "" || found[0]["line"] != 2.0 {
		t.Errorf("%v", found)
	}
}

func TestGrepOptions(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "a.ts", "Needle\n")
	put(t, "src/b.tsx", "needle\n")
	put(t, "src/c.go", "needle\n")
	for request, want := range map[string][]string{
		`"pattern":"needle"`:                                     {"src/b.tsx", "src/c.go"},
		`"pattern":"needle","case_insensitive":true`:             {"a.ts", "src/b.tsx", "src/c.go"},
		`"pattern":"(?i)NEEDLE","include":"*.{ts,tsx}"`:          {"a.ts", "src/b.tsx"},
		`"pattern":"eedle","include":"src/*"`:                    {"src/b.tsx", "src/c.go"},
		`"pattern":"a|^N","case_insensitive":true,"include":"*"`: {"a.ts", "src/b.tsx", "src/c.go"},
	} {
		_, found, _ := call(t, "grep", "{"+request+`,"root":".","limit":10}`)
		if got := pathsOf(found); !slices.Equal(got, want) {
			t.Errorf("%s: %q", request, got)
		}
	}
}

func TestGrepIsBounded(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "many", strings.Repeat("x\n", 501))
	for limit, truncated := range map[int]bool{500: true, 501: false, 600: false} {
		_, found, last := call(t, "grep", fmt.Sprintf(`{"pattern":"x","root":".","limit":%d}`, limit))
		if len(found) != min(limit, 501) || last["truncated"] != truncated {
			t.Errorf("%d: %d, %v", limit, len(found), last)
		}
	}
}

func TestGrepOnLongLines(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "long", strings.Repeat("ü", 100_000)+"needle"+strings.Repeat("ü", 3_000_000)+"late\nneedle")
	_, found, last := call(t, "grep", `{"pattern":"needle|late","root":".","limit":10}`)
	if len(found) != 2 || last["lines_cut"] != 1.0 {
		t.Fatalf("%d, %v", len(found), last)
	}
	text := found[0]["text"].(string)
	if found[0]["cut"] != true || found[0]["column"] != 200_001.0 || len(text) > maxTextBytes+3 ||
		!strings.HasPrefix(text, strings.Repeat("ü", 50)+"needleü") || strings.Contains(text, "\uFFFD") {
		t.Errorf("%v", found[0])
	}
	if found[1]["line"] != 2.0 || found[1]["cut"] != false {
		t.Errorf("%v", found[1])
	}
}

func TestGrepPassesByWhatIsNotText(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "binary", "needle\x00needle")
	put(t, "latin1", "caf\xe9 needle\n")
	put(t, "bad\xff", "needle\n")
	put(t, "target/file", "needle")
	if err := os.Symlink("target", "link"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("target/file", "link to a file"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(".", "loop"); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo("pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	_, found, last := call(t, "grep", `{"pattern":"needle","root":".","limit":10}`)
	if got := pathsOf(found); !slices.Equal(got, []string{`bad\xff`, "latin1", "target/file"}) {
		t.Errorf("%q", got)
	}
	if last["unreadable"] != 0.0 || last["files_searched"] != 3.0 {
		t.Errorf("%v", last)
	}
	if found[0]["escaped"] != true || found[1]["text"] != "caf\uFFFD needle" || last["binary_skipped"] != 1.0 {
		t.Errorf("%v, %v", found, last)
	}
}

// A file that becomes a pipe before it is opened must not hold the search up.
func TestOpenDoesNotWaitForAPipe(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := syscall.Mkfifo("pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	opened := make(chan error, 1)
	go func() {
		_, err := newSearcher(regexp.MustCompile("x")).search("pipe", nil)
		opened <- err
	}()
	select {
	case err := <-opened:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it waits")
	}
}

func TestGrepRefusals(t *testing.T) {
	t.Chdir(t.TempDir())
	code, message := refusedWith(t, "grep", `{"pattern":"a(b","root":".","limit":1,"case_insensitive":true}`)
	if code != "invalid_value" || message != "pattern: missing closing ): `a(b`" {
		t.Errorf("%s: %s", code, message)
	}
	if _, message = refusedWith(t, "grep", `{"pattern":"a","include":"[","root":".","limit":1}`); !strings.HasPrefix(message, "include: ") {
		t.Error(message)
	}
	if code, _ = refusedWith(t, "grep", `{"pattern":"a","root":"gone","limit":1}`); code != "file_not_found" {
		t.Error(code)
	}
}
