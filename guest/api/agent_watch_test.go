package api

import (
	"testing"

	agentv1 "emergent.dev/guest/gen/emergent/agent/v1"
	"emergent.dev/guest/memory"
)

// watched collects the numbers of the incidents that a watch tells first.
func (f fixture) watched(request *agentv1.WatchRequest, count int) []uint64 {
	f.Helper()
	stream, err := f.agent.Watch(f.Context(), request)
	if err != nil {
		f.Fatal(err)
	}
	defer stream.Close()
	var numbers []uint64
	for len(numbers) < count && stream.Receive() {
		numbers = append(numbers, stream.Msg().GetIncident().GetNumber())
	}
	if len(numbers) < count {
		f.Fatalf("%v, then %v", numbers, stream.Err())
	}
	return numbers
}

func TestWatchTellsWhatIsRememberedAndThenWhatComes(t *testing.T) {
	f := serve(t)
	f.incidents.Add(memory.Incident{Process: "one", Pid: 5, Tag: "t", Rss: 3, Used: 4, Limit: 2})
	stream, err := f.agent.Watch(t.Context(), &agentv1.WatchRequest{})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if !stream.Receive() {
		t.Fatal(stream.Err())
	}
	told := stream.Msg().GetIncident().GetMemoryExceeded()
	if stream.Msg().GetBootId() != "b" || string(told.GetProcess()) != "one" || told.GetPid() != 5 ||
		told.GetTag() != "t" || told.GetRssBytes() != 3 || told.GetUsedBytes() != 4 || told.GetLimitBytes() != 2 {
		t.Errorf("%v", stream.Msg())
	}
	f.incidents.Add(memory.Incident{Process: "two"})
	if !stream.Receive() || stream.Msg().GetIncident().GetNumber() != 2 {
		t.Errorf("%v, %v", stream.Msg(), stream.Err())
	}
	close(f.stopping)
	if stream.Receive() || stream.Err() != nil {
		t.Errorf("%v, %v", stream.Msg(), stream.Err())
	}
}

func TestWatchGoesOnWhereItsOwnNumbersEnded(t *testing.T) {
	f := serve(t)
	for range 3 {
		f.incidents.Add(memory.Incident{})
	}
	if told := f.watched(&agentv1.WatchRequest{After: 2, BootId: "b"}, 1); told[0] != 3 {
		t.Errorf("of this agent: %v", told)
	}
	if told := f.watched(&agentv1.WatchRequest{After: 2, BootId: "another"}, 3); told[0] != 1 {
		t.Errorf("of another one: %v", told)
	}
}
