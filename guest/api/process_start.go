package api

import (
	"context"
	"errors"

	"connectrpc.com/connect"

	"emergent.dev/guest/gen/process"
	"emergent.dev/guest/proc"
)

// Start does not tie the command to ctx: a caller that leaves, or whose deadline passes, ends only the stream.
func (s *processService) Start(
	ctx context.Context, request *process.StartRequest, stream *connect.ServerStream[process.StartResponse],
) error {
	config := request.GetProcess()
	if config == nil {
		return connect.NewError(connect.CodeInvalidArgument, errors.New("the request has no process"))
	}
	terminal, err := sizeOf(request.GetPty())
	if err != nil {
		return err
	}
	started, reader, err := s.table.Start(proc.Spec{
		Cmd:      config.GetCmd(),
		Args:     config.GetArgs(),
		Envs:     config.GetEnvs(),
		Cwd:      config.GetCwd(),
		Tag:      request.GetTag(),
		Stdin:    request.GetStdin(),
		Terminal: terminal,
		Detached: request.GetDetached(),
	})
	if err != nil {
		return rpcError(err)
	}
	defer reader.Close()
	return follow(ctx, started, reader, func(event *process.ProcessEvent) error {
		return stream.Send(&process.StartResponse{Event: event})
	})
}
