// Package api is what the agent serves over HTTP.
package api

import (
	"math"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"emergent.dev/guest/files"
	"emergent.dev/guest/gen/emergent/agent/v1/agentv1connect"
	"emergent.dev/guest/gen/process/processconnect"
	"emergent.dev/guest/memory"
	"emergent.dev/guest/proc"
)

// maxMessage bounds one request message; input for a command comes in several if need be.
const maxMessage = 16 << 20

// Options is what the endpoints work on.
type Options struct {
	Processes *proc.Table
	Workdir   string
	// Owner is who new files belong to; nil: whoever runs the agent.
	Owner     *files.Owner
	TokenHash TokenHash
	Identity  Identity
	Incidents *memory.Incidents
	// MemoryUsed tells what the sandbox's processes hold.
	MemoryUsed func() (uint64, error)
	// Stopping is closed when the agent is told to stop.
	Stopping <-chan struct{}
}

// Handler serves every endpoint; all but /health ask for the access token.
func Handler(o Options) http.Handler {
	rpc := []connect.HandlerOption{
		connect.WithReadMaxBytes(maxMessage),
		// Compressed requests are understood; compressing answers would cost more than a local pipe does.
		connect.WithCompressMinBytes(math.MaxInt),
	}
	used := newActivity(time.Now)
	mux := http.NewServeMux()
	mux.Handle(processconnect.NewProcessHandler(&processService{o.Processes}, rpc...))
	mux.Handle(agentv1connect.NewAgentHandler(&agentService{o.Processes, o.Identity, o.Incidents, o.MemoryUsed, used, &tunnels{}, o.Stopping}, rpc...))
	mux.Handle("/files", files.Handler{Workdir: o.Workdir, Owner: o.Owner})
	mux.HandleFunc("GET /health", health)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		files.WriteError(w, http.StatusNotFound, "no such endpoint")
	})
	return requireToken(o.TokenHash, used.count(mux))
}

func health(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusNoContent)
}
