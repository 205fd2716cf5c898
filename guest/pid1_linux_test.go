package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	agentv1 "emergent.dev/guest/gen/emergent/agent/v1"
	"emergent.dev/guest/gen/emergent/agent/v1/agentv1connect"
	"emergent.dev/guest/gen/process/processconnect"
)

// inNamespaces puts a program into new namespaces, where it is PID 1 with a /proc of its own.
func inNamespaces(cmd *exec.Cmd) *exec.Cmd {
	arguments := []string{"--pid", "--fork", "--kill-child", "--mount-proc"}
	if os.Geteuid() != 0 {
		arguments = append(arguments, "--user", "--map-root-user")
	}
	wrapped := exec.Command("unshare", append(arguments, cmd.Args...)...)
	wrapped.Env, wrapped.Stderr = cmd.Env, cmd.Stderr
	return wrapped
}

// childOf waits until the process has a child.
func childOf(t *testing.T, pid int) int {
	t.Helper()
	for {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
		if err != nil {
			t.Fatal(err)
		}
		if fields := strings.Fields(string(text)); len(fields) > 0 {
			child, err := strconv.Atoi(fields[0])
			if err != nil {
				t.Fatal(err)
			}
			return child
		}
	}
}

// entering puts a program where the agent is, as an engine's exec does: it is no child of the agent.
func entering(agent int, cmd *exec.Cmd) *exec.Cmd {
	arguments := []string{"--target", strconv.Itoa(agent), "--pid", "--mount"}
	if os.Geteuid() != 0 {
		arguments = append(arguments, "--user", "--preserve-credentials")
	}
	wrapped := exec.Command("nsenter", append(arguments, cmd.Args...)...)
	wrapped.Env, wrapped.Stderr = cmd.Env, cmd.Stderr
	return wrapped
}

func TestAsPid1ItEndsEverythingButItsBridges(t *testing.T) {
	outer := inNamespaces(initCommand(t))
	if err := outer.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = outer.Process.Kill()
		_ = outer.Wait()
	})
	agent := childOf(t, outer.Process.Pid)
	var bridge *exec.Cmd
	client := bridgedBy(t, func() *exec.Cmd {
		bridge = entering(agent, command(t, "bridge"))
		return bridge
	})
	processes := processconnect.NewProcessClient(client, "http://agent")

	var s collected
	events := startShell(t, processes, "echo $PPID; trap 'echo last; exit 5' TERM; while :; do sleep 0.01; done")
	if parent := s.line(t, events); parent != "1" {
		t.Fatalf("the agent is process %s", parent)
	}
	visitor := entering(agent, exec.Command("sh", "-c", "trap '' TERM; echo ready; exec sleep 1000"))
	output, err := visitor.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := visitor.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = visitor.Process.Kill()
		_ = visitor.Wait()
	})
	if _, err := bufio.NewReader(output).ReadString('\n'); err != nil {
		t.Fatal(err)
	}

	request := &agentv1.TerminateRequest{GraceMs: 300}
	answer, err := agentv1connect.NewAgentClient(client, "http://agent").Terminate(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	// Only the visitor had to be killed.
	if answer.GetKilled() != 1 || answer.GetLeft() != 0 {
		t.Errorf("%v", answer)
	}
	s.read(t, events, func() bool { return s.end != nil })
	if s.output.String() != "last\n" || s.end.GetExitCode() != 5 {
		t.Errorf("%q, %v", s.output.String(), s.end)
	}
	for what, pid := range map[string]int{"agent": agent, "bridge": bridge.Process.Pid} {
		if !runs(pid) {
			t.Errorf("the %s is gone", what)
		}
	}
}
