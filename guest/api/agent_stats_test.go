package api

import (
	"testing"

	agentv1 "emergent.dev/guest/gen/emergent/agent/v1"
)

func (f fixture) stats() *agentv1.StatsResponse {
	f.Helper()
	answer, err := f.agent.Stats(f.Context(), &agentv1.StatsRequest{})
	if err != nil {
		f.Fatal(err)
	}
	return answer
}

func TestStatsCountsProcessesWhoeverStartedThem(t *testing.T) {
	f := serve(t)
	before := f.stats()
	if before.Processes == nil || before.GetMemoryBytes() == 0 {
		t.Fatalf("%v", before)
	}
	// Two that the shell leaves behind, and the shell itself.
	stream, err := f.processes.Start(t.Context(), sh("sleep 1000 & sleep 1000 & echo up; wait"))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	up := func(told transcript) bool { return told.stdout == "up\n" }
	if _, err := listen(stream, startEvent, up); err != nil {
		t.Fatal(err)
	}
	if after := f.stats(); after.GetProcesses() != before.GetProcesses()+3 {
		t.Errorf("%v, before %v", after, before)
	}
}
