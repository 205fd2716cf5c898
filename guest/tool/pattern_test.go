package tool

import (
	"strings"
	"testing"
)

func TestPatternMatches(t *testing.T) {
	for _, test := range []struct {
		pattern string
		yes, no []string
	}{
		{"*.go", []string{"a.go", ".go", ".hidden.go"}, []string{"a/b.go", "a.gox", "go"}},
		{"**/*.go", []string{"a.go", "a/b.go", "a/b/c.go"}, []string{"a.go/b"}},
		{"a/**", []string{"a/b", "a/b/c"}, []string{"a", "ab", "b/a"}},
		{"a/**/b", []string{"a/b", "a/x/b", "a/b/b", "a/x/y/b"}, []string{"a/x", "b", "a/b/c"}},
		{"**/a/**/b", []string{"a/b", "x/a/y/b", "a/a/b"}, []string{"a", "b/a"}},
		{"**", []string{"a", "a/b/c"}, nil},
		{"a**b", []string{"ab", "axyb"}, []string{"a/b"}},
		{"?", []string{"a", "é", "\xff"}, []string{"ab", "", "a/b"}},
		{"[a-c]x", []string{"ax", "cx"}, []string{"dx", "x", "-x"}},
		{"[!a-c]x", []string{"dx", "éx"}, []string{"ax"}},
		{"[^a]", []string{"b"}, []string{"a"}},
		{"[]a]", []string{"]", "a"}, []string{"b"}},
		{"[a-]", []string{"a", "-"}, []string{"b"}},
		{`[\]]`, []string{"]"}, []string{`\`}},
		{"[{]a", []string{"{a"}, []string{"a"}},
		{"[{]/a", []string{"{/a"}, []string{"[{]/a"}},
		{"*.{ts,tsx}", []string{"a.ts", "a.tsx"}, []string{"a.t", "a.{ts,tsx}"}},
		{"{a,b/{c,d}}", []string{"a", "b/c", "b/d"}, []string{"b", "c"}},
		{"{a,}b", []string{"ab", "b"}, []string{"a"}},
		{"{src,test}/**/*.go", []string{"src/a.go", "test/x/a.go"}, []string{"lib/a.go"}},
		{`\*`, []string{"*"}, []string{"a", `\*`}},
		{`\{a,b\}`, []string{"{a,b}"}, []string{"a"}},
		{"-n", []string{"-n"}, []string{"n"}},
		{"$(x) 'y'", []string{"$(x) 'y'"}, nil},
		{"a\nb", []string{"a\nb"}, []string{"a"}},
		{"./a//b/", []string{"a/b"}, []string{"a"}},
		{"*", []string{"\xff\xfe"}, []string{"a/b"}},
	} {
		parsed, err := parsePattern(test.pattern)
		if err != nil {
			t.Errorf("%q: %v", test.pattern, err)
			continue
		}
		for _, path := range test.yes {
			if !parsed.matches(path) {
				t.Errorf("%q does not match %q", test.pattern, path)
			}
		}
		for _, path := range test.no {
			if parsed.matches(path) {
				t.Errorf("%q matches %q", test.pattern, path)
			}
		}
	}
}

func TestPatternRefusals(t *testing.T) {
	for pattern, problem := range map[string]string{
		"":                           "empty",
		"/etc/*":                     "relative",
		"../*":                       "..",
		"a/../b":                     "..",
		"[a":                         "[",
		"[z-a]":                      "range",
		"{a,b":                       "{",
		"a}":                         "}",
		`a\`:                         `\`,
		"/":                          "relative",
		"./":                         "names nothing",
		strings.Repeat("{a,b}", 11):  "alternatives",
		strings.Repeat("{a,b}", 400): "alternatives",
	} {
		if _, err := parsePattern(pattern); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%q: %v", pattern, err)
		}
	}
}

// A pattern of stars on a long name must not take for ever.
func TestPatternIsNotExponential(t *testing.T) {
	parsed, err := parsePattern(strings.Repeat("*a", 40) + "b")
	if err != nil {
		t.Fatal(err)
	}
	if parsed.matches(strings.Repeat("a", 250)) {
		t.Error("matches")
	}
	deep, err := parsePattern(strings.Repeat("**/a/", 40) + "b")
	if err != nil {
		t.Fatal(err)
	}
	if deep.matches(strings.Repeat("a/", 1000) + "a") {
		t.Error("matches")
	}
}

func TestPatternPrunes(t *testing.T) {
	parsed, err := parsePattern("{src/*.go,test/**}")
	if err != nil {
		t.Fatal(err)
	}
	for directory, want := range map[string]bool{
		"": true, "src": true, "src/a": false, "test": true, "test/a/b": true, "node_modules": false,
	} {
		if parsed.mayMatchBelow(directory) != want {
			t.Errorf("%q: %v", directory, !want)
		}
	}
}
