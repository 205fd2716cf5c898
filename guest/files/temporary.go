package files

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	temporaryPrefix = ".emergent-"
	temporarySuffix = ".tmp"
	// As package rand writes text.
	randomLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	randomLength  = 26
)

// createTemporary makes the file that is to become one in dir, which ends with a slash. An agent that is killed over
// it leaves it behind. So those of the working directory's file system, which outlives the sandbox, are all made in
// the working directory itself, where Sweep finds them at one glance. All others are made in dir: the rest of a
// sandbox's files ends with it.
func (h Handler) createTemporary(dir string, mode fs.FileMode) (*os.File, error) {
	if file := h.createForWorkdir(dir, mode); file != nil {
		return file, nil
	}
	return createIn(dir, mode)
}

// createForWorkdir answers nil where the file is better made in dir.
func (h Handler) createForWorkdir(dir string, mode fs.FileMode) *os.File {
	target, known := statOf(dir)
	workdir, found := statOf(h.Workdir)
	if !known || !found || target.Dev != workdir.Dev {
		return nil
	}
	file, err := createIn(h.Workdir+"/", mode)
	if err != nil {
		return nil
	}
	if target.Mode&syscall.S_ISGID == 0 {
		return file
	}
	// Made in dir it would have had dir's group.
	if err := file.Chown(-1, int(target.Gid)); err != nil {
		discard(file)
		return nil
	}
	return file
}

// createIn chooses a name of its own length, as the target's may be as long as a name can be.
func createIn(dir string, mode fs.FileMode) (*os.File, error) {
	path := dir + temporaryPrefix + rand.Text() + temporarySuffix
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, fmt.Errorf("create temporary file: %w", err)
	}
	return file, nil
}

func discard(file *os.File) {
	file.Close()
	os.Remove(file.Name())
}

func statOf(path string) (*syscall.Stat_t, bool) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, false
	}
	stat, known := info.Sys().(*syscall.Stat_t)
	return stat, known
}

// Sweep removes the temporary files that an agent was killed over. It must not run while another serves the same
// working directory.
func Sweep(workdir string) error {
	entries, err := os.ReadDir(workdir)
	if err != nil {
		return fmt.Errorf("look for temporary files: %w", err)
	}
	var failed []error
	for _, entry := range entries {
		if !entry.Type().IsRegular() || !isTemporary(entry.Name()) {
			continue
		}
		if err := os.Remove(filepath.Join(workdir, entry.Name())); err != nil {
			failed = append(failed, fmt.Errorf("remove temporary file: %w", err))
		}
	}
	return errors.Join(failed...)
}

func isTemporary(name string) bool {
	random, begins := strings.CutPrefix(name, temporaryPrefix)
	random, ends := strings.CutSuffix(random, temporarySuffix)
	return begins && ends && len(random) == randomLength && strings.Trim(random, randomLetters) == ""
}
