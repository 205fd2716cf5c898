package api

import (
	"context"

	"emergent.dev/guest/gen/process"
)

func (s *processService) CloseStdin(
	_ context.Context, request *process.CloseStdinRequest,
) (*process.CloseStdinResponse, error) {
	found, err := s.find(request.GetProcess())
	if err != nil {
		return nil, err
	}
	if err := found.CloseStdin(); err != nil {
		return nil, rpcError(err)
	}
	return &process.CloseStdinResponse{}, nil
}
