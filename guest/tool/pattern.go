package tool

import (
	"errors"
	"strings"
)

// pattern is a glob over relative paths: * and ? stay within one name, ** as a whole name stands for any number
// of directories, [a-z] and [!a-z] for one character, {a,b} for either, and \ takes the next character as it is.
// Names that begin with a dot are names like any other.
type pattern struct{ alternatives [][]segment }

// segment is one name of a pattern; anyDepth is **.
type segment struct {
	anyDepth bool
	glyphs   []glyph
}

const maxAlternatives = 1024

func parsePattern(text string) (*pattern, error) {
	switch {
	case text == "":
		return nil, errors.New("is empty")
	case strings.HasPrefix(text, "/"):
		return nil, errors.New("must be relative; name the directory to search as path")
	}
	texts, err := expandBraces(text)
	if err != nil {
		return nil, err
	}
	parsed := &pattern{}
	for _, text := range texts {
		segments, err := parseSegments(text)
		if err != nil {
			return nil, err
		}
		parsed.alternatives = append(parsed.alternatives, segments)
	}
	return parsed, nil
}

func parseSegments(text string) ([]segment, error) {
	var segments []segment
	for _, part := range splitUnescaped(text, '/') {
		switch part {
		case "", ".":
			continue
		case "..":
			return nil, errors.New("must not contain ..")
		case "**":
			if last := len(segments) - 1; last < 0 || !segments[last].anyDepth {
				segments = append(segments, segment{anyDepth: true})
			}
			continue
		}
		glyphs, err := parseGlyphs(part)
		if err != nil {
			return nil, err
		}
		segments = append(segments, segment{glyphs: glyphs})
	}
	if len(segments) == 0 {
		return nil, errors.New("names nothing")
	}
	return segments, nil
}

func (p *pattern) matches(path string) bool {
	names := strings.Split(path, "/")
	for _, segments := range p.alternatives {
		if matchNames(segments, names) {
			return true
		}
	}
	return false
}

// mayMatchBelow tells whether anything in a directory can match; where not, it need not be read.
func (p *pattern) mayMatchBelow(directory string) bool {
	if directory == "" {
		return true
	}
	names := strings.Split(directory, "/")
	for _, segments := range p.alternatives {
		if leadsBelow(segments, names) {
			return true
		}
	}
	return false
}

func leadsBelow(segments []segment, names []string) bool {
	for i, name := range names {
		if i == len(segments) {
			return false
		}
		if segments[i].anyDepth {
			return true
		}
		if !matchGlyphs(segments[i].glyphs, name) {
			return false
		}
	}
	return len(names) < len(segments)
}

// matchNames goes back to the last ** only: an earlier one could not do better.
func matchNames(segments []segment, names []string) bool {
	at, name := 0, 0
	backTo, backName := -1, 0
	for name < len(names) {
		switch {
		case at < len(segments) && segments[at].anyDepth:
			backTo, backName = at, name
			at++
		case at < len(segments) && matchGlyphs(segments[at].glyphs, names[name]):
			at++
			name++
		case backTo >= 0:
			backName++
			at, name = backTo+1, backName
		default:
			return false
		}
	}
	// A ** at the end wants something below it.
	return at == len(segments)
}
