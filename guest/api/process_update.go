package api

import (
	"context"
	"errors"

	"connectrpc.com/connect"

	"emergent.dev/guest/gen/process"
	"emergent.dev/guest/proc"
)

// Update resizes: there is nothing else that can be changed about a command.
func (s *processService) Update(_ context.Context, request *process.UpdateRequest) (*process.UpdateResponse, error) {
	found, err := s.find(request.GetProcess())
	if err != nil {
		return nil, err
	}
	size, err := sizeOf(request.GetPty())
	if err != nil {
		return nil, err
	}
	if size != nil {
		if err := found.Resize(*size); err != nil {
			return nil, rpcError(err)
		}
	}
	return &process.UpdateResponse{}, nil
}

// sizeOf answers nil where no terminal is asked for.
func sizeOf(pty *process.PTY) (*proc.Size, error) {
	if pty == nil {
		return nil, nil
	}
	if pty.GetSize() == nil {
		return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("the terminal has no size"))
	}
	return &proc.Size{Cols: pty.GetSize().GetCols(), Rows: pty.GetSize().GetRows()}, nil
}
