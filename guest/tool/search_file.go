package tool

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

const (
	// sniffBytes is how far a NUL byte is looked for, which makes a file binary.
	sniffBytes = 8 << 10
	// maxLineBytes is how much of a line is searched.
	maxLineBytes = 4 << 20
	// maxTextBytes is how much of a line is told, beginning at most leadBytes before the match.
	maxTextBytes = 500
	leadBytes    = 100
)

type lineMatch struct {
	Line int `json:"line"`
	// Column counts bytes, from 1.
	Column int    `json:"column"`
	Text   string `json:"text"`
	// Cut: the text is a part of the line.
	Cut bool `json:"cut"`
}

type searched struct {
	binary     bool
	unreadable bool
	linesCut   int
}

// searcher searches one file after the other with the same buffers.
type searcher struct {
	wanted *regexp.Regexp
	reader *bufio.Reader
	line   []byte
}

func newSearcher(wanted *regexp.Regexp) *searcher {
	return &searcher{wanted: wanted, reader: bufio.NewReaderSize(nil, 64<<10)}
}

// search tells of every line that matches. Only an error of found is an error: a file that cannot be read is
// counted.
func (s *searcher) search(path string, found func(lineMatch) error) (searched, error) {
	file, err := openPlain(path)
	if err != nil {
		return searched{unreadable: true}, nil
	}
	defer file.close()
	s.reader.Reset(file)
	head, err := s.reader.Peek(sniffBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return searched{unreadable: true}, nil
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return searched{binary: true}, nil
	}
	return s.lines(found)
}

func (s *searcher) lines(found func(lineMatch) error) (searched, error) {
	var result searched
	for number := 1; ; number++ {
		line, cut, err := readLine(s.reader, s.line[:0])
		if err != nil {
			result.unreadable = !errors.Is(err, io.EOF)
			return result, nil
		}
		s.line = line
		if cut {
			result.linesCut++
		}
		text := bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		place := s.wanted.FindIndex(text)
		if place == nil {
			continue
		}
		shown, whole := excerpt(text, place[0])
		match := lineMatch{number, place[0] + 1, shown, cut || !whole}
		if err := found(match); err != nil {
			return result, err
		}
	}
}

// readLine reads to the end of the line and keeps its beginning; io.EOF: there is no line any more.
func readLine(reader *bufio.Reader, line []byte) ([]byte, bool, error) {
	cut := false
	for {
		chunk, err := reader.ReadSlice('\n')
		room := maxLineBytes - len(line)
		if len(chunk) > room {
			cut = true
			chunk = chunk[:room]
		}
		line = append(line, chunk...)
		switch {
		case err == nil, errors.Is(err, io.EOF) && len(line) > 0:
			return line, cut, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, cut, err
		}
	}
}

// excerpt is the text around a match, at most maxTextBytes of it and no half characters.
func excerpt(line []byte, match int) (string, bool) {
	from, to := 0, len(line)
	if len(line) > maxTextBytes {
		from = max(0, match-leadBytes)
		to = min(len(line), from+maxTextBytes)
		for from < match && from > 0 && !utf8.RuneStart(line[from]) {
			from++
		}
		for to < len(line) && to > match && !utf8.RuneStart(line[to]) {
			to--
		}
	}
	return strings.ToValidUTF8(string(line[from:to]), "\uFFFD"), from == 0 && to == len(line)
}
