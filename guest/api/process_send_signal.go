package api

import (
	"context"
	"fmt"
	"syscall"

	"connectrpc.com/connect"

	"emergent.dev/guest/gen/process"
)

func (s *processService) SendSignal(
	_ context.Context, request *process.SendSignalRequest,
) (*process.SendSignalResponse, error) {
	number := request.GetSignal()
	if _, known := process.Signal_name[int32(number)]; !known || number == process.Signal_SIGNAL_UNSPECIFIED {
		return nil, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("signal %d cannot be sent", number))
	}
	found, err := s.find(request.GetProcess())
	if err != nil {
		return nil, err
	}
	if err := found.Signal(syscall.Signal(number)); err != nil {
		return nil, rpcError(err)
	}
	return &process.SendSignalResponse{}, nil
}
