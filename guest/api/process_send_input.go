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
	// A command has one input, whatever the caller takes it for.
	input := request.GetInput().GetStdin()
	if typed, ok := request.GetInput().GetInput().(*process.ProcessInput_Pty); ok {
		input = typed.Pty
	}
	if err := found.WriteStdin(ctx, input); err != nil {
		return nil, rpcError(err)
	}
	return &process.SendInputResponse{}, nil
}
