package api

import (
	"strings"
	"testing"

	"connectrpc.com/connect"

	agentv1 "emergent.dev/guest/gen/emergent/agent/v1"
	"emergent.dev/guest/gen/process"
)

// adopt gives the sandbox an environment and wants it to be taken.
func (f fixture) adopt(env map[string]string) *agentv1.AdoptResponse {
	f.Helper()
	answer, err := f.agent.Adopt(f.Context(), &agentv1.AdoptRequest{Env: env})
	if err != nil {
		f.Fatal(err)
	}
	return answer
}

// wantOutput runs a script with the variables that its caller gives.
func (f fixture) wantOutput(script, want string, own map[string]string) {
	f.Helper()
	request := sh(script)
	request.Process.Envs = own
	told, err := run(f.Context(), f.processes, request)
	if err != nil || told.stdout != want {
		f.Errorf("%s: %+v, %v", script, told, err)
	}
}

func TestCommandsHaveTheAdoptedEnvironment(t *testing.T) {
	t.Setenv("INHERITED", "agent")
	t.Setenv("HOME", "/home/agent")
	f := serve(t)
	if answer := f.adopt(map[string]string{"A": "one", "B": "two", "INHERITED": "adopted", "HOME": "/adopted"}); answer.GetBootId() != "b" || answer.GetVersion() != "v" {
		t.Errorf("%v", answer)
	}
	f.wantOutput("echo $A $B $C $INHERITED $HOME", "one own own2 adopted /adopted\n", map[string]string{"B": "own", "C": "own2"})
	f.adopt(map[string]string{"B": "three"})
	f.wantOutput("echo ${A-none} $B $INHERITED $HOME", "none three agent /home/agent\n", nil)
	f.adopt(nil)
	f.wantOutput("echo ${A-none} ${B-none} $INHERITED", "none none agent\n", nil)
}

func TestAnAdoptedPathIsSearched(t *testing.T) {
	f := serve(t)
	f.adopt(map[string]string{"PATH": "/nowhere"})
	_, err := run(t.Context(), f.processes, sh("true"))
	f.wantCode("sh", connect.CodeNotFound, err)
}

func TestWhatIsTheAgentsOwnIsNotAdopted(t *testing.T) {
	f := serve(t)
	f.adopt(map[string]string{"EMERGENT_TOKEN_SHA256": "x", "EMERGENTLY": "y"})
	f.wantOutput("echo ${EMERGENT_TOKEN_SHA256-none} $EMERGENTLY", "none y\n", nil)
}

func TestARunningCommandKeepsItsEnvironment(t *testing.T) {
	f := serve(t)
	f.adopt(map[string]string{"A": "before"})
	script := &process.StartRequest{Stdin: new(bool), Process: sh("read line; sh -c 'echo $A'").Process}
	*script.Stdin = true
	stream, err := f.processes.Start(t.Context(), script)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	started, err := listen(stream, startEvent, func(told transcript) bool { return told.pid != 0 })
	if err != nil {
		t.Fatal(err)
	}
	f.adopt(map[string]string{"A": "after"})
	input := &process.ProcessInput{Input: &process.ProcessInput_Stdin{Stdin: []byte("go\n")}}
	if _, err := f.processes.SendInput(t.Context(), &process.SendInputRequest{Process: byPid(started.pid), Input: input}); err != nil {
		t.Fatal(err)
	}
	if told, err := listen(stream, startEvent, whole); err != nil || told.stdout != "before\n" {
		t.Errorf("%+v, %v", told, err)
	}
}

func TestABadEnvironmentChangesNothing(t *testing.T) {
	f := serve(t)
	f.adopt(map[string]string{"A": "kept"})
	for what, env := range map[string]map[string]string{
		"no name":                       {"": "x"},
		"a name with an equals sign":    {"A=B": "x"},
		"a name with a NUL byte":        {"A\x00": "x"},
		"a value with a NUL byte":       {"A": "x\x00"},
		"one that no command could get": {"A": strings.Repeat("x", 1<<20)},
	} {
		_, err := f.agent.Adopt(t.Context(), &agentv1.AdoptRequest{Env: env})
		f.wantCode(what, connect.CodeInvalidArgument, err)
	}
	f.wantOutput("echo $A", "kept\n", nil)
}

func TestASandboxThatIsBeingStoppedIsNotAdopted(t *testing.T) {
	f := serve(t)
	if _, err := f.agent.Terminate(t.Context(), &agentv1.TerminateRequest{}); err != nil {
		t.Fatal(err)
	}
	_, err := f.agent.Adopt(t.Context(), &agentv1.AdoptRequest{})
	f.wantCode("adopt", connect.CodeAborted, err)
}
