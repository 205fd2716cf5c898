package proc

import (
	"fmt"
	"maps"
	"strings"
)

const (
	// OwnPrefix marks the variables that are meant for the agent and kept from commands.
	OwnPrefix = "EMERGENT_"
	// maxAdopted leaves room, in the two megabytes that a kernel allows, for a command's own words.
	maxAdopted = 1 << 20
)

// Adopt lays env over what commands inherit, in place of what was adopted before. Commands that run keep what they
// have.
func (t *Table) Adopt(env map[string]string) error {
	if err := checkEnv(env); err != nil {
		return err
	}
	size := 0
	for name, value := range env {
		size += len(name) + len(value) + len("=\x00")
	}
	if size > maxAdopted {
		return fmt.Errorf("%w: the environment has %d bytes, and may have %d", ErrBadArgument, size, maxAdopted)
	}
	given := maps.Clone(env)
	maps.DeleteFunc(given, func(name, _ string) bool { return strings.HasPrefix(name, OwnPrefix) })
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closing {
		return ErrStopping
	}
	t.adopted = given
	return nil
}

// inherited is what a command starts from now.
func (t *Table) inherited() Defaults {
	t.mu.Lock()
	adopted := t.adopted
	t.mu.Unlock()
	defaults := t.defaults
	defaults.Environ, _ = mergeEnv(defaults.Environ, adopted)
	return defaults
}
