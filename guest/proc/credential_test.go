package proc

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// asUser is a table whose commands run as somebody else, who can reach its working directory.
func asUser(t *testing.T) *Table {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can run commands as somebody else")
	}
	credential := &syscall.Credential{Uid: 12345, Gid: 12346, Groups: []uint32{12347, 12348}}
	table, err := NewTable(Defaults{Workdir: "/", Environ: os.Environ(), Credential: credential}, children)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestCommandsHaveTheirUsersCredentials(t *testing.T) {
	script := `id -u; id -g; id -G; grep CapEff /proc/self/status | cut -f2`
	_, reader := start(t, asUser(t), sh(script))
	r, _ := follow(t, reader)
	want := []string{"12345", "12346", "12346 12347 12348", "0000000000000000", ""}
	if got := strings.Split(r.stdout.String(), "\n"); strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("%q, stderr %q", got, r.stderr.String())
	}
}

func TestACommandsUserCanOpenItsStreamsByName(t *testing.T) {
	spec := sh(`cat /dev/stdin >/dev/stdout && echo err >/dev/stderr`)
	spec.Stdin = true
	process, reader := start(t, asUser(t), spec)
	typeText(t, process, "in\n")
	if err := process.CloseStdin(); err != nil {
		t.Fatal(err)
	}
	r, exit := follow(t, reader)
	if exit.Code != 0 || r.stdout.String() != "in\n" || r.stderr.String() != "err\n" {
		t.Errorf("%+v, %q, %q", exit, r.stdout.String(), r.stderr.String())
	}
}

func TestACommandsUserOwnsItsTerminal(t *testing.T) {
	_, reader := start(t, asUser(t), atTerminal("sh", "-c", `stat -c %u "$(tty)"; echo again >"$(tty)"`))
	r, exit := follow(t, reader)
	if exit.Code != 0 || r.stdout.String() != "12345\r\nagain\r\n" {
		t.Errorf("%+v, %q", exit, r.stdout.String())
	}
}
