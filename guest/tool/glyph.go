package tool

import (
	"errors"
	"unicode/utf8"
)

// glyph is what stands for one character of a name, or for any number of them.
type glyph struct {
	kind    glyphKind
	char    rune
	negated bool
	ranges  [][2]rune
}

type glyphKind int

const (
	literal glyphKind = iota
	anyChar
	anyChars
	oneOf
)

func (g *glyph) takes(char rune) bool {
	switch g.kind {
	case literal:
		return g.char == char
	case oneOf:
		for _, bounds := range g.ranges {
			if bounds[0] <= char && char <= bounds[1] {
				return !g.negated
			}
		}
		return g.negated
	default:
		return true
	}
}

func parseGlyphs(text string) ([]glyph, error) {
	var glyphs []glyph
	chars := []rune(text)
	for i := 0; i < len(chars); i++ {
		switch chars[i] {
		case '*':
			if last := len(glyphs) - 1; last < 0 || glyphs[last].kind != anyChars {
				glyphs = append(glyphs, glyph{kind: anyChars})
			}
		case '?':
			glyphs = append(glyphs, glyph{kind: anyChar})
		case '[':
			class, end, err := parseClass(chars, i+1)
			if err != nil {
				return nil, err
			}
			glyphs = append(glyphs, class)
			i = end
		case '\\':
			if i++; i == len(chars) {
				return nil, errors.New(`ends with \`)
			}
			fallthrough
		default:
			glyphs = append(glyphs, glyph{char: chars[i]})
		}
	}
	return glyphs, nil
}

// parseClass reads on behind a [; a ] in the first place stands for itself.
func parseClass(chars []rune, at int) (glyph, int, error) {
	class := glyph{kind: oneOf}
	if at < len(chars) && (chars[at] == '!' || chars[at] == '^') {
		class.negated = true
		at++
	}
	next := func() (rune, bool) {
		if at < len(chars) && chars[at] == '\\' {
			at++
		}
		if at >= len(chars) {
			return 0, false
		}
		at++
		return chars[at-1], true
	}
	for first := true; at < len(chars); first = false {
		if chars[at] == ']' && !first {
			return class, at, nil
		}
		low, ok := next()
		if !ok {
			break
		}
		high := low
		if at+1 < len(chars) && chars[at] == '-' && chars[at+1] != ']' {
			at++
			if high, ok = next(); !ok {
				break
			}
		}
		if high < low {
			return class, at, errors.New("has a range in [] that ends before it begins")
		}
		class.ranges = append(class.ranges, [2]rune{low, high})
	}
	return class, at, errors.New("has a [ without its ]")
}

// matchGlyphs goes back to the last * only, so the work is bounded by the product of both lengths. A byte that is
// not UTF-8 counts as one character.
func matchGlyphs(glyphs []glyph, name string) bool {
	at, pos := 0, 0
	backTo, backPos := -1, 0
	for pos < len(name) {
		char, size := utf8.DecodeRuneInString(name[pos:])
		switch {
		case at < len(glyphs) && glyphs[at].kind == anyChars:
			backTo, backPos = at, pos
			at++
		case at < len(glyphs) && glyphs[at].takes(char):
			at++
			pos += size
		case backTo >= 0:
			_, skipped := utf8.DecodeRuneInString(name[backPos:])
			backPos += skipped
			at, pos = backTo+1, backPos
		default:
			return false
		}
	}
	for at < len(glyphs) && glyphs[at].kind == anyChars {
		at++
	}
	return at == len(glyphs)
}
