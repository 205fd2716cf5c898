package tool

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// name is a path for JSON, which holds Unicode only. A path that is not UTF-8 is escaped: its stray bytes as
// \xNN and its backslashes doubled, so that two different paths never look the same.
type name struct {
	Path    string `json:"path"`
	Escaped bool   `json:"escaped,omitempty"`
}

func nameOf(path string) name {
	if utf8.ValidString(path) {
		return name{Path: path}
	}
	var escaped strings.Builder
	for rest := path; rest != ""; {
		char, size := utf8.DecodeRuneInString(rest)
		switch {
		case char == utf8.RuneError && size == 1:
			fmt.Fprintf(&escaped, `\x%02x`, rest[0])
		case char == '\\':
			escaped.WriteString(`\\`)
		default:
			escaped.WriteString(rest[:size])
		}
		rest = rest[size:]
	}
	return name{escaped.String(), true}
}
