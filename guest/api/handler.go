// Package api is what the agent serves over HTTP.
package api

import (
	"math"
	"net/http"

	"connectrpc.com/connect"

	"emergent.dev/guest/files"
	"emergent.dev/guest/gen/emergent/agent/v1/agentv1connect"
	"emergent.dev/guest/gen/process/processconnect"
	"emergent.dev/guest/proc"
)

// maxMessage bounds one request message; input for a command comes in several if need be.
const maxMessage = 16 << 20

// Options is what the endpoints work on.
type Options struct {
	Processes *proc.Table
	Workdir   string
	TokenHash TokenHash
	Identity  Identity
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
	mux := http.NewServeMux()
	mux.Handle(processconnect.NewProcessHandler(&processService{o.Processes}, rpc...))
	mux.Handle(agentv1connect.NewAgentHandler(&agentService{o.Processes, o.Identity, o.Stopping}, rpc...))
	mux.Handle("/files", files.Handler{Workdir: o.Workdir})
	mux.HandleFunc("GET /health", health)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		files.WriteError(w, http.StatusNotFound, "no such endpoint")
	})
	return requireToken(o.TokenHash, mux)
}

func health(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusNoContent)
}
