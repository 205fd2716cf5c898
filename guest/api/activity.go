package api

import (
	"net/http"
	"sync"
	"time"

	"emergent.dev/guest/gen/emergent/agent/v1/agentv1connect"
)

// onlyLooking names the requests that are no use of the sandbox: nobody waits for them, or they ask about it.
var onlyLooking = map[string]bool{
	agentv1connect.AgentWatchProcedure: true,
	agentv1connect.AgentStatsProcedure: true,
	agentv1connect.AgentIdleProcedure:  true,
	"/health":                          true,
}

// activity knows when the sandbox was last used, by whomever: several hosts may talk to one agent.
type activity struct {
	now func() time.Time

	mu       sync.Mutex
	requests int
	lastEnd  time.Time
}

func newActivity(now func() time.Time) *activity {
	return &activity{now: now, lastEnd: now()}
}

// count sees every request from its head until its answer is complete.
func (a *activity) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !onlyLooking[r.URL.Path] {
			a.begin()
			defer a.end()
		}
		next.ServeHTTP(w, r)
	})
}

func (a *activity) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests++
}

func (a *activity) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests--
	a.lastEnd = a.now()
}

// quiet is how many requests are open and, if none is, since when.
func (a *activity) quiet() (requests int, since time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.requests > 0 {
		return a.requests, 0
	}
	return 0, a.now().Sub(a.lastEnd)
}
