package api

import (
	"context"

	agentv1 "emergent.dev/guest/gen/emergent/agent/v1"
)

func (s *agentService) Adopt(_ context.Context, request *agentv1.AdoptRequest) (*agentv1.AdoptResponse, error) {
	if err := s.processes.Adopt(request.GetEnv()); err != nil {
		return nil, rpcError(err)
	}
	return &agentv1.AdoptResponse{Version: s.identity.Version, BootId: s.identity.BootID}, nil
}
