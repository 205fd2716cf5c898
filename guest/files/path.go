package files

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	// The kernel's limit, which counts the closing NUL.
	maxPath = 4095
	// As many links as the kernel itself follows.
	maxLinks = 40
)

// requestedPath is the query's path made absolute.
func (h Handler) requestedPath(r *http.Request) (string, error) {
	path := r.URL.Query().Get("path")
	switch {
	case path == "":
		return "", refuse(http.StatusBadRequest, "the query has no path")
	case strings.ContainsRune(path, 0):
		return "", refuse(http.StatusBadRequest, "the path contains a NUL byte")
	case len(path) > maxPath:
		return "", refuse(http.StatusBadRequest, "the path is longer than %d bytes", maxPath)
	}
	if !filepath.IsAbs(path) {
		path = h.Workdir + "/" + path
	}
	return path, nil
}

// split cuts off the last name. It leaves the rest as it is: filepath.Dir would take ".." for the parent in the
// text, which behind a symbolic link is not the parent in the file system.
func split(path string) (dir, name string) {
	return filepath.Split(path)
}

// finalTarget follows symbolic links at the end of path to the file that a write would change, which need not
// exist. existing is nil when it does not.
func finalTarget(path string) (target string, existing fs.FileInfo, err error) {
	for range maxLinks {
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return path, nil, nil
		case errors.Is(err, syscall.ENOTDIR):
			return "", nil, refuse(http.StatusBadRequest, "%s: a part of the path is not a directory", path)
		case err != nil:
			return "", nil, fmt.Errorf("look up: %w", err)
		case info.Mode()&fs.ModeSymlink == 0:
			return path, info, nil
		}
		link, err := os.Readlink(path)
		if err != nil {
			return "", nil, fmt.Errorf("follow link: %w", err)
		}
		if !filepath.IsAbs(link) {
			dir, _ := split(path)
			link = dir + link
		}
		path = link
	}
	return "", nil, fmt.Errorf("follow links of %s: %w", path, syscall.ELOOP)
}

// mustBeRegular refuses what has no size and no end: reading or replacing it would hang or do harm.
func mustBeRegular(path string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return refuseDirectory(path)
	case !info.Mode().IsRegular():
		return refuse(http.StatusBadRequest, "%s is not a regular file", path)
	}
	return nil
}
