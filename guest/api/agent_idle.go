package api

import (
	"context"

	agentv1 "emergent.dev/guest/gen/emergent/agent/v1"
	"emergent.dev/guest/proc"
)

// Idle looks at the requests after the processes: a command that starts meanwhile is an open request then.
func (s *agentService) Idle(context.Context, *agentv1.IdleRequest) (*agentv1.IdleResponse, error) {
	processes, err := proc.Count()
	if err != nil {
		return nil, rpcError(err)
	}
	requests, quiet := s.activity.quiet()
	return &agentv1.IdleResponse{
		Processes: uint32(processes),
		Requests:  uint32(requests),
		QuietMs:   uint64(quiet.Milliseconds()),
	}, nil
}
