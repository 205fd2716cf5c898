package tool

import (
	"cmp"
	"io/fs"
	"os"
	"slices"
)

type globRequest struct {
	Pattern string `json:"pattern"`
	Root    string `json:"root"`
	Limit   int    `json:"limit"`
	GitDir  bool   `json:"git_dir"`
}

type globMatch struct {
	name
	Kind       string `json:"kind"`
	Size       int64  `json:"size"`
	ModifiedMs int64  `json:"modified_ms"`
	order      int64
	raw        string
}

type globSummary struct {
	Done       bool `json:"done"`
	Total      int  `json:"total"`
	Unreadable int  `json:"unreadable"`
}

// runGlob finds files by a pattern on their paths, newest first.
func runGlob(raw []byte, out results) error {
	var request globRequest
	if err := decode(raw, &request); err != nil {
		return err
	}
	if request.Limit < 1 {
		return invalid("limit", "must be at least 1")
	}
	wanted, err := parsePattern(request.Pattern)
	if err != nil {
		return invalid("pattern", err)
	}
	if info, err := checkRoot(request.Root); err != nil {
		return err
	} else if !info.IsDir() {
		return invalid("path", "is not a directory")
	}
	newest := newestMatches{limit: request.Limit}
	files := tree{root: request.Root, withGit: request.GitDir, enters: wanted.mayMatchBelow}
	err = files.walk(func(found entry) error {
		if !wanted.matches(found.path) {
			return nil
		}
		// One that has gone meanwhile was not found.
		if info, err := os.Lstat(found.file); err == nil {
			newest.add(found, info)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, match := range newest.sorted() {
		if err := out.put(match); err != nil {
			return err
		}
	}
	return out.put(globSummary{true, newest.total, files.unreadable})
}

// newestMatches keeps no more than twice what will be answered, however much is found.
type newestMatches struct {
	limit int
	total int
	kept  []globMatch
}

func (n *newestMatches) add(found entry, info fs.FileInfo) {
	n.total++
	modified := info.ModTime()
	n.kept = append(n.kept, globMatch{
		Kind: kindOf(info.Mode()), Size: info.Size(), ModifiedMs: modified.UnixMilli(),
		order: modified.UnixNano(), raw: found.path,
	})
	if len(n.kept) >= 2*n.limit {
		n.cut()
	}
}

func (n *newestMatches) cut() {
	slices.SortFunc(n.kept, func(a, b globMatch) int {
		return cmp.Or(cmp.Compare(b.order, a.order), cmp.Compare(a.raw, b.raw))
	})
	n.kept = n.kept[:min(len(n.kept), n.limit)]
}

func (n *newestMatches) sorted() []globMatch {
	n.cut()
	for i := range n.kept {
		n.kept[i].name = nameOf(n.kept[i].raw)
	}
	return n.kept
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "file"
	case mode&fs.ModeSymlink != 0:
		return "symlink"
	default:
		return "other"
	}
}
