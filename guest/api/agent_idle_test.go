package api

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	agentv1 "emergent.dev/guest/gen/emergent/agent/v1"
)

// idle asks until the answer is as wanted: a request ends a moment after its client has all of it.
func (f fixture) idle(what string, want func(*agentv1.IdleResponse) bool) {
	f.Helper()
	for {
		answer, err := f.agent.Idle(f.Context(), &agentv1.IdleRequest{})
		if err != nil {
			f.Fatalf("%s: %v", what, err)
		}
		if want(answer) {
			return
		}
	}
}

func TestIdleCountsProcessesOfAnyKindAndOpenRequests(t *testing.T) {
	f := serve(t)
	f.idle("at first", func(a *agentv1.IdleResponse) bool { return a.GetProcesses() == 0 && a.GetRequests() == 0 })
	stream, err := f.processes.Start(t.Context(), sh("setsid sleep 1000 > /dev/null 2>&1 & sleep 1000"))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	f.idle("while it runs", func(a *agentv1.IdleResponse) bool {
		return a.GetProcesses() > 1 && a.GetRequests() == 1 && a.GetQuietMs() == 0
	})
	if _, err := f.agent.Terminate(t.Context(), &agentv1.TerminateRequest{}); err != nil {
		t.Fatal(err)
	}
	f.idle("at the end", func(a *agentv1.IdleResponse) bool { return a.GetProcesses() == 0 && a.GetRequests() == 0 })
}

func TestWhoOnlyLooksIsNoUse(t *testing.T) {
	f := serve(t)
	stream, err := f.agent.Watch(t.Context(), &agentv1.WatchRequest{})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	answer, err := f.agent.Idle(t.Context(), &agentv1.IdleRequest{})
	if err != nil || answer.GetRequests() != 0 {
		t.Errorf("%v, %v", answer, err)
	}
}

func TestActivityTellsHowLongAgoTheLastRequestEnded(t *testing.T) {
	now := time.Unix(1000, 0)
	used := newActivity(func() time.Time { return now })
	during := func() {}
	handler := used.count(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { during() }))
	ask := func(path string) {
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, path, nil))
	}
	want := func(what string, requests int, quiet time.Duration) {
		t.Helper()
		if r, q := used.quiet(); r != requests || q != quiet {
			t.Errorf("%s: %d, %v", what, r, q)
		}
	}
	now = now.Add(time.Minute)
	want("never used", 0, time.Minute)
	during = func() {
		now = now.Add(time.Second)
		want("while it is used", 1, 0)
	}
	ask("/files")
	want("just used", 0, 0)
	now = now.Add(time.Hour)
	during = func() {}
	ask("/health")
	want("looked at", 0, time.Hour)
}
