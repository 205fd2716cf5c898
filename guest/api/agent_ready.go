package api

import (
	"context"

	"connectrpc.com/connect"

	agentv1 "emergent.dev/guest/gen/emergent/agent/v1"
)

// Ready answers at once: nothing is served before the agent is ready.
func (s *agentService) Ready(
	ctx context.Context, _ *agentv1.ReadyRequest, stream *connect.ServerStream[agentv1.ReadyResponse],
) error {
	ready := &agentv1.ReadyResponse{Version: s.identity.Version, BootId: s.identity.BootID}
	if err := stream.Send(ready); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-s.stopping:
	}
	return nil
}
