package tool

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// tree is what a tool searches: a directory, or a single file. Symbolic links below the root are never followed,
// so there are no loops.
type tree struct {
	root string
	// withGit also enters directories named .git.
	withGit bool
	// enters tells whether a directory is worth reading.
	enters func(directory string) bool
	// unreadable counts what could not be looked into.
	unreadable int
}

// entry is something below the root that is not a directory. Its path is relative to the root; that of a root that
// is itself a file is empty.
type entry struct {
	path string
	kind fs.FileMode
	file string
}

var errEnough = errors.New("enough")

// pseudo holds filesystems that the kernel makes up: endless to search, unless somebody asks for them by name.
var pseudo = []string{"/proc", "/sys", "/dev"}

func checkRoot(root string) (fs.FileInfo, error) {
	info, err := os.Stat(root)
	switch {
	case err == nil:
		return info, nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil, &refusal{"file_not_found", "there is no such file or directory"}
	case errors.Is(err, fs.ErrPermission):
		return nil, &refusal{"permission_denied", "permission denied"}
	default:
		return nil, invalid("path", errors.Unwrap(err))
	}
}

// walk visits everything that is not a directory, in the order of names; visit ends it with errEnough.
func (t *tree) walk(visit func(entry) error) error {
	info, err := checkRoot(t.root)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		err = visit(entry{"", info.Mode().Type(), t.root})
	} else {
		err = t.directory(visit)
	}
	return enough(err)
}

// enough takes the end that was asked for out of the errors.
func enough(err error) error {
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// directory keeps the way in a list of its own: how deep a tree is is not for the program's stack to bear.
func (t *tree) directory(visit func(entry) error) error {
	todo := []entry{{"", fs.ModeDir, t.root}}
	for len(todo) > 0 {
		current := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !current.kind.IsDir() {
			if err := visit(current); err != nil {
				return err
			}
			continue
		}
		if !t.wants(current) {
			continue
		}
		found, err := os.ReadDir(current.file)
		if err != nil {
			t.unreadable++
		}
		for _, one := range slices.Backward(found) {
			path := one.Name()
			if current.path != "" {
				path = current.path + "/" + path
			}
			todo = append(todo, entry{path, one.Type(), filepath.Join(current.file, one.Name())})
		}
	}
	return nil
}

func (t *tree) wants(directory entry) bool {
	if directory.path == "" {
		return true
	}
	if !t.withGit && filepath.Base(directory.path) == ".git" {
		return false
	}
	if !t.enters(directory.path) {
		return false
	}
	absolute, err := filepath.Abs(directory.file)
	return err == nil && !slices.Contains(pseudo, absolute)
}
