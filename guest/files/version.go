package files

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// createdHeader tells that a write made a file where there was none.
const createdHeader = "X-Emergent-Created"

// version names a state of a file, as an entity tag: every way of changing a file changes one of its parts, but for
// two writes of as many bytes within one tick of the file system's clock.
func version(info fs.FileInfo) string {
	stat, known := info.Sys().(*syscall.Stat_t)
	if !known {
		return ""
	}
	return fmt.Sprintf(`"%x-%x-%x-%x-%x-%x-%x"`, stat.Dev, stat.Ino, stat.Size,
		stat.Mtim.Sec, stat.Mtim.Nsec, stat.Ctim.Sec, stat.Ctim.Nsec)
}

var stamps atomic.Uint64

// stamp keeps files that are written within one tick of the file system's clock apart, should they come to the same
// inode number and size: by microseconds, far less than a tick, so that the order of files by age stays true.
func stamp(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("inspect temporary file: %w", err)
	}
	at := info.ModTime().Add(time.Duration(stamps.Add(1)%1000) * time.Microsecond)
	if err := os.Chtimes(file.Name(), at, at); err != nil {
		return fmt.Errorf("stamp: %w", err)
	}
	return nil
}

// condition is the version that a write must find; empty when any will do.
type condition string

// check refuses when the file is not in that version; existing is nil where there is none.
func (c condition) check(path string, existing fs.FileInfo) error {
	if c == "" || existing != nil && version(existing) == string(c) {
		return nil
	}
	return refuse(http.StatusPreconditionFailed, "%s is not the version that was read", path)
}

// placing makes checking and renaming one step for all writers that come through this agent: two with the same
// version cannot both find it in place.
var placing sync.Mutex

// putInPlace tells whether there was no file before.
func putInPlace(temporary, target string, wanted condition) (created bool, err error) {
	placing.Lock()
	defer placing.Unlock()
	existing, err := os.Lstat(target)
	if err != nil {
		existing = nil
	}
	if err := wanted.check(target, existing); err != nil {
		return false, err
	}
	if err := os.Rename(temporary, target); err != nil {
		return false, fmt.Errorf("put in place: %w", err)
	}
	return existing == nil, nil
}
