package api

import (
	"context"

	"connectrpc.com/connect"

	"emergent.dev/guest/gen/process"
)

func (s *processService) Connect(
	ctx context.Context, request *process.ConnectRequest, stream *connect.ServerStream[process.ConnectResponse],
) error {
	found, err := s.find(request.GetProcess())
	if err != nil {
		return err
	}
	reader := found.Read(request.GetOffset())
	defer reader.Close()
	send := func(event *process.ProcessEvent) error {
		return stream.Send(&process.ConnectResponse{Event: event})
	}
	if request.GetUntilNow() {
		return upToNow(ctx, found, reader, send)
	}
	return follow(ctx, found, reader, send)
}
