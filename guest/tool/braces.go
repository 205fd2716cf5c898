package tool

import (
	"errors"
	"fmt"
	"strings"
)

// expandBraces turns a{b,c} into ab and ac; braces may lie in braces.
func expandBraces(text string) ([]string, error) {
	expanded := []string{}
	for todo := []string{text}; len(todo) > 0; {
		current := todo[0]
		todo = todo[1:]
		open, end, err := outerBraces(current)
		if err != nil {
			return nil, err
		}
		if open < 0 {
			expanded = append(expanded, current)
		} else {
			for _, choice := range splitUnescaped(current[open+1:end], ',') {
				todo = append(todo, current[:open]+choice+current[end+1:])
			}
		}
		if len(todo)+len(expanded) > maxAlternatives {
			return nil, fmt.Errorf("has more than %d alternatives in {}", maxAlternatives)
		}
	}
	return expanded, nil
}

// outerBraces finds the first { and the } that belongs to it; -1: there is none.
func outerBraces(text string) (open, end int, err error) {
	open = -1
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '[':
			i = endOfClass(text, i)
		case '{':
			if depth++; depth == 1 {
				open = i
			}
		case '}':
			if depth == 0 {
				return -1, 0, errors.New("has a } without its {")
			}
			if depth--; depth == 0 {
				return open, i, nil
			}
		}
	}
	if depth > 0 {
		return -1, 0, errors.New("has a { without its }")
	}
	return -1, 0, nil
}

// splitUnescaped splits where the separator stands outside of braces and classes and is not escaped.
func splitUnescaped(text string, separator byte) []string {
	var parts []string
	start, depth := 0, 0
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case text[i] == '[':
			i = endOfClass(text, i)
		case text[i] == '{':
			depth++
		case text[i] == '}':
			depth--
		case text[i] == separator && depth == 0:
			parts = append(parts, text[start:i])
			start = i + 1
		}
	}
	return append(parts, text[start:])
}

// endOfClass is where the class that begins at `at` ends, or `at` where it does not end.
func endOfClass(text string, at int) int {
	from := at + 1
	if from < len(text) && strings.ContainsRune("!^", rune(text[from])) {
		from++
	}
	for i := from; i < len(text); i++ {
		if text[i] == '\\' {
			i++
		} else if text[i] == ']' && i > from {
			return i
		}
	}
	return at
}
