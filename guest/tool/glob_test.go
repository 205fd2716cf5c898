package tool

import (
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"
)

func TestGlobIsNewestFirst(t *testing.T) {
	t.Chdir(t.TempDir())
	now := time.Now()
	for i, path := range []string{"old.txt", "d/same-b.txt", "d/same-a.txt", "new.txt"} {
		put(t, path, "12345")
		at := now.Add(time.Duration(min(i, 1)+i/3) * time.Minute)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	code, found, last := call(t, "glob", `{"pattern":"**/*.txt","root":".","limit":10}`)
	want := []string{"new.txt", "d/same-a.txt", "d/same-b.txt", "old.txt"}
	if got := pathsOf(found); code != 0 || !slices.Equal(got, want) {
		t.Errorf("exit %d, %q", code, got)
	}
	if found[0]["size"] != 5.0 || found[0]["kind"] != "file" || last["total"] != 4.0 {
		t.Errorf("%v, %v", found[0], last)
	}
	_, found, last = call(t, "glob", `{"pattern":"**/*.txt","root":".","limit":1}`)
	if got := pathsOf(found); !slices.Equal(got, want[:1]) || last["total"] != 4.0 {
		t.Errorf("%q of %v", got, last)
	}
}

func TestGlobBreaksTiesByName(t *testing.T) {
	t.Chdir(t.TempDir())
	at := time.Now()
	want := []string{"a-b", "a/b", "a0"}
	for _, path := range want {
		put(t, path, "")
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	_, found, _ := call(t, "glob", `{"pattern":"**","root":".","limit":10}`)
	if got := pathsOf(found); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestGlobOnHostileNames(t *testing.T) {
	t.Chdir(t.TempDir())
	names := []string{" a b", "'q\"", "new\nline", "$(touch x)", "-rf", `back\slash`, "ü", "*"}
	for _, name := range names {
		put(t, "d/"+name, "")
	}
	put(t, "d/bad\xffname", "")
	put(t, "d/bad\\\xfe", "")
	_, found, _ := call(t, "glob", `{"pattern":"*","root":"d","limit":100}`)
	escaped := map[string]bool{}
	for _, line := range found {
		escaped[line["path"].(string)] = line["escaped"] == true
	}
	for _, name := range names {
		if flag, ok := escaped[name]; !ok || flag {
			t.Errorf("%q: %v %v", name, ok, flag)
		}
	}
	if !escaped[`bad\xffname`] || !escaped[`bad\\\xfe`] || len(escaped) != len(names)+2 {
		t.Errorf("%v", escaped)
	}
}

func TestGlobDoesNotFollowLinks(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "a/b/file", "")
	for link, target := range map[string]string{"a/b/loop": "../..", "a/self": "self", "gone": "nowhere"} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	_, found, last := call(t, "glob", `{"pattern":"**","root":".","limit":100}`)
	got := pathsOf(found)
	slices.Sort(got)
	if want := []string{"a/b/file", "a/b/loop", "a/self", "gone"}; !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, last)
	}
}

func TestGlobPassesGitByUnlessAsked(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, ".git/config", "")
	put(t, "sub/.git/config", "")
	put(t, ".github/config", "")
	_, found, _ := call(t, "glob", `{"pattern":"**/config","root":".","limit":100}`)
	if got := pathsOf(found); !slices.Equal(got, []string{".github/config"}) {
		t.Errorf("%q", got)
	}
	if _, found, _ = call(t, "glob", `{"pattern":"**/config","root":".","limit":100,"git_dir":true}`); len(found) != 3 {
		t.Errorf("%q", pathsOf(found))
	}
	if _, found, _ = call(t, "glob", `{"pattern":"*","root":".git","limit":100}`); len(found) != 1 {
		t.Errorf("%q", pathsOf(found))
	}
}

func TestGlobOverManyFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	for i := range 3000 {
		put(t, fmt.Sprintf("%d/%d", i%10, i), "")
	}
	_, found, last := call(t, "glob", `{"pattern":"**","root":".","limit":1000}`)
	if len(found) != 1000 || last["total"] != 3000.0 {
		t.Errorf("%d, %v", len(found), last)
	}
}

func TestGlobRefusals(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "file", "")
	for request, want := range map[string]string{
		`{"pattern":"[","root":".","limit":1}`:      "invalid_value",
		`{"pattern":"*","root":"file","limit":1}`:   "invalid_value",
		`{"pattern":"*","root":"gone","limit":1}`:   "file_not_found",
		`{"pattern":"*","root":"file/x","limit":1}`: "file_not_found",
		`{"pattern":"*","root":".","limit":0}`:      "invalid_value",
		`{"pattern":7}`:                             "invalid_value",
		`{`:                                         "invalid_value",
		``:                                          "invalid_value",
	} {
		if code, message := refusedWith(t, "glob", request); code != want || message == "" {
			t.Errorf("%s: %s: %s", request, code, message)
		}
	}
	if code, _ := refusedWith(t, "rm", `{}`); code != "invalid_value" {
		t.Error(code)
	}
}

func TestGlobSeesPipesAsWhatTheyAre(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := syscall.Mkfifo("pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	if _, found, _ := call(t, "glob", `{"pattern":"*","root":".","limit":1}`); found[0]["kind"] != "other" {
		t.Errorf("%v", found)
	}
}
