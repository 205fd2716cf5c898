package main

import (
	"slices"
	"strings"
	"testing"
)

func TestEveryProblemIsReportedTogether(t *testing.T) {
	t.Setenv("EMERGENT_TOKEN_SHA256", "")
	t.Setenv("EMERGENT_NAMESERVERS", "1.1.1.1,nonsense")
	t.Setenv("EMERGENT_WORKDIR", "relative")
	_, err := readConfig()
	if err == nil {
		t.Fatal("accepted")
	}
	for _, name := range []string{"EMERGENT_TOKEN_SHA256", "EMERGENT_NAMESERVERS", "EMERGENT_WORKDIR"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not in %q", name, err)
		}
	}
}

func TestDefaultsAndLists(t *testing.T) {
	t.Setenv("EMERGENT_TOKEN_SHA256", strings.Repeat("ab", 32))
	t.Setenv("EMERGENT_NAMESERVERS", "1.1.1.1, 2606:4700::1111")
	t.Setenv("EMERGENT_WORKDIR", "")
	config, err := readConfig()
	if err != nil || config.workdir != "/workspace" {
		t.Fatalf("%+v, %v", config, err)
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
