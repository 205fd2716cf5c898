package tool

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// put makes a file in the test's directory.
func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// call runs a tool and gives its exit code and its lines, the last apart.
func call(t *testing.T, name, request string) (code int, lines []map[string]any, last map[string]any) {
	t.Helper()
	var out bytes.Buffer
	code = Run(name, strings.NewReader(request), &out)
	scanner := bufio.NewScanner(&out)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		var line map[string]any
		if err := json.Unmarshal(scanner.Bytes(), &line); err != nil {
			t.Fatalf("%q: %v", scanner.Text(), err)
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		t.Fatal("no answer")
	}
	return code, lines[:len(lines)-1], lines[len(lines)-1]
}

func pathsOf(lines []map[string]any) []string {
	paths := []string{}
	for _, line := range lines {
		paths = append(paths, line["path"].(string))
	}
	return paths
}

// refusedWith runs a tool that must refuse, and gives what it says.
func refusedWith(t *testing.T, name, request string) (code, message string) {
	t.Helper()
	exit, found, last := call(t, name, request)
	refusal, ok := last["error"].(map[string]any)
	if exit != exitRefused || len(found) != 0 || !ok {
		t.Fatalf("exit %d, %v, %v", exit, found, last)
	}
	return refusal["code"].(string), refusal["message"].(string)
}
