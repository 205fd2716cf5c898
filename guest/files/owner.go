package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// Owner is a user of the sandbox to whom files are given that the agent makes; nil keeps them the agent's own.
type Owner struct{ UID, GID int }

func (o *Owner) take(file *os.File) error {
	if o == nil {
		return nil
	}
	if err := file.Chown(o.UID, o.GID); err != nil {
		return fmt.Errorf("set the owner: %w", err)
	}
	return nil
}

// makeDirectories makes those that are missing, and gives only them to the owner.
func (o *Owner) makeDirectories(dir string) error {
	if o == nil {
		return os.MkdirAll(dir, 0o755)
	}
	dir = strings.TrimRight(dir, "/")
	if dir == "" {
		return nil
	}
	if is, err := isDirectory(dir); err != nil || is {
		return err
	}
	// By the text, as links on the way to it are followed by the kernel.
	parent, _ := split(dir)
	if err := o.makeDirectories(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); errors.Is(err, fs.ErrExist) {
		_, err := isDirectory(dir)
		return err
	} else if err != nil {
		return err
	}
	if err := os.Lchown(dir, o.UID, o.GID); err != nil {
		return fmt.Errorf("set the owner: %w", err)
	}
	return nil
}

// isDirectory is false where there is nothing; anything else than a directory is ENOTDIR.
func isDirectory(path string) (bool, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.IsDir():
		return false, &fs.PathError{Op: "mkdir", Path: path, Err: syscall.ENOTDIR}
	}
	return true, nil
}
