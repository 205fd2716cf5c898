package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"emergent.dev/guest/account"
	"emergent.dev/guest/api"
	"emergent.dev/guest/proc"
)

const (
	defaultWorkdir = "/workspace"
	defaultPath    = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)

type config struct {
	tokenHash   api.TokenHash
	nameservers []netip.Addr
	workdir     string
	// volumes are directories that the engine has made and that commands write to.
	volumes []string
	// memoryLimit is in bytes; 0: none is watched over.
	memoryLimit uint64
	// sharedKernel: the kernel is the host's, so the control group tells what the sandbox uses.
	sharedKernel bool
	// account is who commands run as and new files belong to.
	account account.Account
	// environ is what commands inherit.
	environ []string
}

// readConfig reports every problem together.
func readConfig() (config, error) {
	var problems []error
	hash, err := api.ParseTokenHash(os.Getenv("EMERGENT_TOKEN_SHA256"))
	if err != nil {
		problems = append(problems, fmt.Errorf("EMERGENT_TOKEN_SHA256: %w", err))
	}
	nameservers, err := parseNameservers(os.Getenv("EMERGENT_NAMESERVERS"))
	if err != nil {
		problems = append(problems, fmt.Errorf("EMERGENT_NAMESERVERS: %w", err))
	}
	workdir := os.Getenv("EMERGENT_WORKDIR")
	if workdir == "" {
		workdir = defaultWorkdir
	}
	if !filepath.IsAbs(workdir) {
		problems = append(problems, fmt.Errorf("EMERGENT_WORKDIR: %q is not an absolute path", workdir))
	}
	volumes, err := parseVolumes(os.Getenv("EMERGENT_VOLUMES"))
	if err != nil {
		problems = append(problems, fmt.Errorf("EMERGENT_VOLUMES: %w", err))
	}
	memoryLimit, err := parseMemoryLimit(os.Getenv("EMERGENT_MEMORY_LIMIT"))
	if err != nil {
		problems = append(problems, fmt.Errorf("EMERGENT_MEMORY_LIMIT: %w", err))
	}
	usageSource := os.Getenv("EMERGENT_MEMORY_USAGE")
	if usageSource != "" && usageSource != "cgroup" {
		problems = append(problems, fmt.Errorf("EMERGENT_MEMORY_USAGE: %q is not known", usageSource))
	}
	user, err := account.System.Resolve(os.Getenv("EMERGENT_USER"))
	if err != nil {
		problems = append(problems, fmt.Errorf("EMERGENT_USER: %w", err))
	}
	environ := os.Environ()
	if os.Getenv("EMERGENT_OWN_HOME") == "true" {
		environ = withHome(environ, user)
	}
	return config{
		tokenHash:    hash,
		nameservers:  nameservers,
		workdir:      filepath.Clean(workdir),
		volumes:      volumes,
		memoryLimit:  memoryLimit,
		sharedKernel: usageSource == "cgroup",
		account:      user,
		environ:      commandEnviron(environ),
	}, errors.Join(problems...)
}

// withHome gives commands the home of who runs them in place of the agent's, which its runtime has set.
func withHome(environ []string, user account.Account) []string {
	if user.UID == 0 {
		return environ
	}
	kept := slices.DeleteFunc(slices.Clone(environ), func(entry string) bool { return strings.HasPrefix(entry, "HOME=") })
	return append(kept, "HOME="+user.Home)
}

func parseVolumes(text string) ([]string, error) {
	var paths []string
	if text == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &paths); err != nil {
		return nil, err
	}
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			return nil, fmt.Errorf("%q is not an absolute path", path)
		}
	}
	return paths, nil
}

func parseMemoryLimit(text string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	limit, err := strconv.ParseUint(text, 10, 64)
	if err == nil && limit == 0 {
		err = errors.New("a limit of nothing")
	}
	return limit, err
}

func parseNameservers(list string) ([]netip.Addr, error) {
	if list == "" {
		return nil, nil
	}
	var addresses []netip.Addr
	for _, text := range strings.Split(list, ",") {
		address, err := netip.ParseAddr(strings.TrimSpace(text))
		if err != nil {
			return nil, err
		}
		addresses = append(addresses, address)
	}
	return addresses, nil
}

// commandEnviron leaves out what is the agent's own and adds what commands rely on; a kernel starts its init
// with neither PATH nor HOME.
func commandEnviron(environ []string) []string {
	missing := map[string]string{"PATH": defaultPath, "HOME": "/root"}
	var kept []string
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		delete(missing, name)
		if !strings.HasPrefix(name, proc.OwnPrefix) {
			kept = append(kept, entry)
		}
	}
	for name, value := range missing {
		kept = append(kept, name+"="+value)
	}
	return kept
}
