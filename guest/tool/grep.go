package tool

import (
	"path"
	"regexp"
	"strings"
)

type grepRequest struct {
	Pattern         string `json:"pattern"`
	Root            string `json:"root"`
	Include         string `json:"include"`
	CaseInsensitive bool   `json:"case_insensitive"`
	Limit           int    `json:"limit"`
	GitDir          bool   `json:"git_dir"`
}

type grepMatch struct {
	name
	lineMatch
}

type grepSummary struct {
	Done          bool `json:"done"`
	Truncated     bool `json:"truncated"`
	FilesSearched int  `json:"files_searched"`
	BinarySkipped int  `json:"binary_skipped"`
	LinesCut      int  `json:"lines_cut"`
	Unreadable    int  `json:"unreadable"`
}

// runGrep finds lines by a regular expression (RE2), in the order of paths.
func runGrep(raw []byte, out results) error {
	var request grepRequest
	if err := decode(raw, &request); err != nil {
		return err
	}
	if request.Limit < 1 {
		return invalid("limit", "must be at least 1")
	}
	wanted, err := compile(request.Pattern, request.CaseInsensitive)
	if err != nil {
		return err
	}
	included, err := includes(request.Include)
	if err != nil {
		return err
	}
	var summary grepSummary
	files := tree{root: request.Root, withGit: request.GitDir, enters: included.enters}
	walk := func(visit func(entry) error) error {
		return files.walk(func(candidate entry) error {
			if !candidate.kind.IsRegular() || (candidate.path != "" && !included.takes(candidate.path)) {
				return nil
			}
			return visit(candidate)
		})
	}
	room := request.Limit
	// One more than is told, to know that there are more.
	err = searchFiles(wanted, request.Limit+1, walk, func(found foundIn) error {
		summary.count(found.result)
		name := nameOf(found.file.path)
		for _, match := range found.matches {
			if room == 0 {
				summary.Truncated = true
				return errEnough
			}
			room--
			if err := out.put(grepMatch{name, match}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	summary.Done = true
	summary.Unreadable += files.unreadable
	return out.put(summary)
}

func (s *grepSummary) count(result searched) {
	switch {
	case result.unreadable:
		s.Unreadable++
	case result.binary:
		s.BinarySkipped++
	default:
		s.FilesSearched++
	}
	s.LinesCut += result.linesCut
}

func compile(pattern string, caseInsensitive bool) (*regexp.Regexp, error) {
	// As it was given first, so that what is wrong is told in the caller's words.
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return nil, invalid("pattern", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	if caseInsensitive {
		compiled, err = regexp.Compile("(?i)" + pattern)
		if err != nil {
			return nil, invalid("pattern", err)
		}
	}
	return compiled, nil
}

// inclusion says which files are searched. A pattern without a slash is held against names, wherever they lie.
type inclusion struct {
	pattern *pattern
	byName  bool
}

func includes(text string) (inclusion, error) {
	if text == "" {
		return inclusion{}, nil
	}
	parsed, err := parsePattern(text)
	if err != nil {
		return inclusion{}, invalid("include", err)
	}
	return inclusion{parsed, !strings.Contains(text, "/")}, nil
}

func (i inclusion) takes(file string) bool {
	if i.byName {
		file = path.Base(file)
	}
	return i.pattern == nil || i.pattern.matches(file)
}

func (i inclusion) enters(directory string) bool {
	return i.pattern == nil || i.byName || i.pattern.mayMatchBelow(directory)
}
