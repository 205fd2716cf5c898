package main

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"emergent.dev/guest/api"
)

const (
	// ownPrefix marks the variables that are meant for the agent and kept from commands.
	ownPrefix      = "EMERGENT_"
	defaultWorkdir = "/workspace"
	defaultPath    = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)

type config struct {
	tokenHash   api.TokenHash
	nameservers []netip.Addr
	workdir     string
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
	return config{hash, nameservers, filepath.Clean(workdir), commandEnviron(os.Environ())}, errors.Join(problems...)
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
		if !strings.HasPrefix(name, ownPrefix) {
			kept = append(kept, entry)
		}
	}
	for name, value := range missing {
		kept = append(kept, name+"="+value)
	}
	return kept
}
