package main

import (
	"slices"
	"strings"
	"testing"

	"emergent.dev/guest/account"
)

func TestEveryProblemIsReportedTogether(t *testing.T) {
	t.Setenv("EMERGENT_TOKEN_SHA256", "")
	t.Setenv("EMERGENT_NAMESERVERS", "1.1.1.1,nonsense")
	t.Setenv("EMERGENT_WORKDIR", "relative")
	t.Setenv("EMERGENT_MEMORY_LIMIT", "4G")
	t.Setenv("EMERGENT_USER", "nobody-by-this-name")
	t.Setenv("EMERGENT_MEMORY_USAGE", "guess")
	t.Setenv("EMERGENT_VOLUMES", `["/data", "relative"]`)
	_, err := readConfig()
	if err == nil {
		t.Fatal("accepted")
	}
	for _, name := range []string{
		"EMERGENT_TOKEN_SHA256", "EMERGENT_NAMESERVERS", "EMERGENT_WORKDIR", "EMERGENT_MEMORY_LIMIT",
		"EMERGENT_USER", "EMERGENT_MEMORY_USAGE", "EMERGENT_VOLUMES",
	} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not in %q", name, err)
		}
	}
}

func TestDefaultsAndLists(t *testing.T) {
	t.Setenv("EMERGENT_TOKEN_SHA256", strings.Repeat("ab", 32))
	t.Setenv("EMERGENT_NAMESERVERS", "1.1.1.1, 2606:4700::1111")
	t.Setenv("EMERGENT_WORKDIR", "")
	t.Setenv("EMERGENT_VOLUMES", `["/data", "/with space"]`)
	config, err := readConfig()
	if err != nil || config.workdir != "/workspace" {
		t.Fatalf("%+v, %v", config, err)
	}
	if want := []string{"/data", "/with space"}; !slices.Equal(config.volumes, want) {
		t.Errorf("%q", config.volumes)
	}
	if text := string(resolvConf(config.nameservers)); text != "nameserver 1.1.1.1\nnameserver 2606:4700::1111\n" {
		t.Errorf("%q", text)
	}
}

func TestCommandsDoNotInheritWhatIsTheAgents(t *testing.T) {
	got := commandEnviron([]string{"EMERGENT_TOKEN_SHA256=x", "LANG=C", "HOME=/home/me"})
	slices.Sort(got)
	if want := []string{"HOME=/home/me", "LANG=C", "PATH=" + defaultPath}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestCommandsHaveTheHomeOfTheirUser(t *testing.T) {
	environ := []string{"LANG=C", "HOME=/root"}
	if got := withHome(environ, account.Account{Home: "/root"}); !slices.Equal(got, environ) {
		t.Errorf("root: %q", got)
	}
	got := withHome(environ, account.Account{UID: 1000, Home: "/home/me"})
	if want := []string{"LANG=C", "HOME=/home/me"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestMemoryLimit(t *testing.T) {
	for text, want := range map[string]uint64{"": 0, "1": 1, "4294967296": 4 << 30} {
		if limit, err := parseMemoryLimit(text); err != nil || limit != want {
			t.Errorf("%q: %d, %v", text, limit, err)
		}
	}
	for _, text := range []string{"0", "-1", "4G", "1.5", "18446744073709551616"} {
		if limit, err := parseMemoryLimit(text); err == nil {
			t.Errorf("%q: %d", text, limit)
		}
	}
}
