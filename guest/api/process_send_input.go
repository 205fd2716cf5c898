package api

import (
	"context"

	"emergent.dev/guest/gen/process"
)

func (s *processService) SendInput(
	ctx context.Context, request *process.SendInputRequest,
) (*process.SendInputResponse, error) {
	found, err := s.find(request.GetProcess())
	if err != nil {
		return nil, err
	}
	if err := found.WriteStdin(ctx, request.GetInput().GetStdin()); err != nil {
		return nil, rpcError(err)
	}
	return &process.SendInputResponse{}, nil
}
