package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"syscall"
)

const (
	maxTag = 256
	// What the terminals at the other end understand, unless the caller knows better.
	defaultTerm = "TERM=xterm-256color"
)

// Spec is a command as the caller describes it.
type Spec struct {
	Cmd  string
	Args []string
	Envs map[string]string
	// Empty: the default directory. Relative: from there.
	Cwd string
	// Empty: no tag.
	Tag   string
	Stdin bool
	// Nil: none. Otherwise the command has a terminal for its three streams, and Stdin has no meaning.
	Terminal *Size
	// The command is not its starter's: it is never held back, and is remembered longer.
	Detached bool
}

// Defaults is what every command starts from.
type Defaults struct {
	Workdir string
	Environ []string
	// Nil: as the agent.
	Credential *syscall.Credential
}

// command is a Spec with everything found out that can fail before a fork.
type command struct {
	path string
	argv []string
	env  []string
	dir  string
}

func (d Defaults) resolve(spec Spec) (command, error) {
	if err := checkStrings(spec); err != nil {
		return command{}, err
	}
	dir := spec.Cwd
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(d.Workdir, dir)
	}
	// The child reports only an errno: without this check a missing directory looks like a missing program.
	if info, err := os.Stat(dir); err != nil {
		return command{}, fmt.Errorf("%w: %s: %w", ErrBadDirectory, dir, reason(err))
	} else if !info.IsDir() {
		return command{}, fmt.Errorf("%w: %s: %w", ErrBadDirectory, dir, syscall.ENOTDIR)
	}
	env, searchPath := mergeEnv(d.Environ, spec.Envs)
	if spec.Terminal != nil && !has(env, "TERM") {
		env = append(env, defaultTerm)
	}
	path, err := findProgram(spec.Cmd, dir, searchPath)
	if err != nil {
		return command{}, err
	}
	return command{path: path, argv: append([]string{spec.Cmd}, spec.Args...), env: env, dir: dir}, nil
}

func checkStrings(spec Spec) error {
	if spec.Cmd == "" {
		return fmt.Errorf("%w: the command is empty", ErrBadArgument)
	}
	if len(spec.Tag) > maxTag {
		return fmt.Errorf("%w: the tag is longer than %d bytes", ErrBadArgument, maxTag)
	}
	if spec.Terminal != nil {
		if err := spec.Terminal.check(); err != nil {
			return err
		}
	}
	for _, text := range append([]string{spec.Cmd, spec.Cwd}, spec.Args...) {
		if strings.ContainsRune(text, 0) {
			return fmt.Errorf("%w: %q contains a NUL byte", ErrBadArgument, text)
		}
	}
	return checkEnv(spec.Envs)
}

func checkEnv(env map[string]string) error {
	for name, value := range env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return fmt.Errorf("%w: environment variable %q", ErrBadArgument, name)
		}
	}
	return nil
}

// mergeEnv lays extra over base and also returns the resulting PATH.
func mergeEnv(base []string, extra map[string]string) (env []string, searchPath string) {
	env = make([]string, 0, len(base)+len(extra))
	for _, entry := range base {
		name, value, _ := strings.Cut(entry, "=")
		if _, replaced := extra[name]; replaced {
			continue
		}
		if name == "PATH" {
			searchPath = value
		}
		env = append(env, entry)
	}
	names := make([]string, 0, len(extra))
	for name := range extra {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		env = append(env, name+"="+extra[name])
	}
	if value, replaced := extra["PATH"]; replaced {
		searchPath = value
	}
	return env, searchPath
}

func has(env []string, name string) bool {
	return slices.ContainsFunc(env, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
}

// findProgram answers with an absolute path. Like a shell it goes on searching behind a file that cannot be
// executed, and complains about that file only if nothing better follows.
func findProgram(name, dir, searchPath string) (string, error) {
	if strings.Contains(name, "/") {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		return path, checkProgram(name, path)
	}
	failure := fmt.Errorf("%w: %s", ErrProgramNotFound, name)
	for _, place := range filepath.SplitList(searchPath) {
		if !filepath.IsAbs(place) {
			place = filepath.Join(dir, place)
		}
		path := filepath.Join(place, name)
		err := checkProgram(name, path)
		if err == nil {
			return path, nil
		}
		if !errors.Is(err, ErrProgramNotFound) {
			failure = err
		}
	}
	return "", failure
}

func checkProgram(name, path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: %s: %w", ErrNotExecutable, name, reason(err))
	case errors.Is(err, syscall.ENAMETOOLONG):
		return fmt.Errorf("%w: %s", ErrBadArgument, reason(err))
	case err != nil:
		return fmt.Errorf("%w: %s", ErrProgramNotFound, name)
	case info.IsDir():
		return fmt.Errorf("%w: %s: is a directory", ErrNotExecutable, name)
	case info.Mode()&0o111 == 0:
		return fmt.Errorf("%w: %s", ErrNotExecutable, name)
	}
	return nil
}

// reason is the bare errno of a file operation, without the path that the caller's sentence already has.
func reason(err error) error {
	var failed *fs.PathError
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}
