package api

import (
	"testing"

	"connectrpc.com/connect"

	agentv1 "emergent.dev/guest/gen/emergent/agent/v1"
)

func TestEndAllAnswersWhenAllIsOverAndGoesOn(t *testing.T) {
	f := serve(t)
	stream, err := f.processes.Start(t.Context(), sh("trap 'echo last; exit 4' TERM; echo ready; while :; do sleep 0.01; done"))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if _, err := listen(stream, startEvent, func(told transcript) bool { return told.stdout != "" }); err != nil {
		t.Fatal(err)
	}
	answer, err := f.agent.EndAll(t.Context(), &agentv1.EndAllRequest{GraceMs: 60_000})
	if err != nil || answer.GetAsked() == 0 || answer.GetKilled() != 0 || answer.GetLeft() != 0 {
		t.Errorf("%v, %v", answer, err)
	}
	if told, err := listen(stream, startEvent, whole); err != nil || told.stdout != "last\n" || told.end.GetExitCode() != 4 {
		t.Errorf("%+v, %v", told, err)
	}
	if told, err := run(t.Context(), f.processes, sh("echo again")); err != nil || told.stdout != "again\n" {
		t.Errorf("a command afterwards: %+v, %v", told, err)
	}
	if _, err := f.agent.Terminate(t.Context(), &agentv1.TerminateRequest{}); err != nil {
		t.Fatal(err)
	}
	_, err = f.agent.EndAll(t.Context(), &agentv1.EndAllRequest{})
	f.wantCode("a sandbox that is being stopped", connect.CodeAborted, err)
}
