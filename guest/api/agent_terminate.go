package api

import (
	"context"
	"time"

	agentv1 "emergent.dev/guest/gen/emergent/agent/v1"
)

const maxGrace = 10 * time.Minute

// Terminate goes on to its end when the caller leaves: half of it would be of no use to anybody.
func (s *agentService) Terminate(
	_ context.Context, request *agentv1.TerminateRequest,
) (*agentv1.TerminateResponse, error) {
	grace := min(time.Duration(request.GetGraceMs())*time.Millisecond, maxGrace)
	outcome, err := s.processes.Terminate(grace)
	if err != nil {
		return nil, rpcError(err)
	}
	return &agentv1.TerminateResponse{
		Asked:  uint32(outcome.Asked),
		Killed: uint32(outcome.Killed),
		Left:   uint32(outcome.Left),
	}, nil
}
