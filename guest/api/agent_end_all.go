package api

import (
	"context"
	"time"

	agentv1 "emergent.dev/guest/gen/emergent/agent/v1"
)

// EndAll goes on to its end when the caller leaves, as Terminate does.
func (s *agentService) EndAll(_ context.Context, request *agentv1.EndAllRequest) (*agentv1.EndAllResponse, error) {
	outcome, err := s.processes.EndAll(min(time.Duration(request.GetGraceMs())*time.Millisecond, maxGrace))
	if err != nil {
		return nil, rpcError(err)
	}
	return &agentv1.EndAllResponse{
		Asked:  uint32(outcome.Asked),
		Killed: uint32(outcome.Killed),
		Left:   uint32(outcome.Left),
	}, nil
}
