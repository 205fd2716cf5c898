package api

import (
	"emergent.dev/guest/gen/emergent/agent/v1/agentv1connect"
	"emergent.dev/guest/memory"
	"emergent.dev/guest/proc"
)

// Identity tells one agent, and one run of it, from another.
type Identity struct {
	Version string
	BootID  string
}

type agentService struct {
	processes  *proc.Table
	identity   Identity
	incidents  *memory.Incidents
	memoryUsed func() (uint64, error)
	activity   *activity
	tunnels    *tunnels
	stopping   <-chan struct{}
}

var _ agentv1connect.AgentHandler = (*agentService)(nil)
