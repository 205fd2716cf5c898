package api

import (
	"testing"

	"connectrpc.com/connect"

	agentv1 "emergent.dev/guest/gen/emergent/agent/v1"
	"emergent.dev/guest/gen/process"
)

func TestTerminateAnswersWhenReadersHaveTheEnd(t *testing.T) {
	f := serve(t)
	stream, err := f.processes.Start(t.Context(), sh("trap 'echo last; exit 4' TERM; echo ready; while :; do sleep 0.01; done"))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if _, err := listen(stream, startEvent, func(told transcript) bool { return told.stdout != "" }); err != nil {
		t.Fatal(err)
	}
	answer, err := f.agent.Terminate(t.Context(), &agentv1.TerminateRequest{GraceMs: 60_000})
	if err != nil || answer.GetAsked() == 0 || answer.GetKilled() != 0 || answer.GetLeft() != 0 {
		t.Errorf("%v, %v", answer, err)
	}
	if told, err := listen(stream, startEvent, whole); err != nil || told.stdout != "last\n" || told.end.GetExitCode() != 4 {
		t.Errorf("%+v, %v", told, err)
	}
	_, err = run(t.Context(), f.processes, &process.StartRequest{Process: &process.ProcessConfig{Cmd: "true"}})
	f.wantCode("a command afterwards", connect.CodeAborted, err)
	if _, err := f.agent.Terminate(t.Context(), &agentv1.TerminateRequest{}); err != nil {
		t.Errorf("again: %v", err)
	}
}
