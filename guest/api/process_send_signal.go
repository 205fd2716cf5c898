package api

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"connectrpc.com/connect"

	"emergent.dev/guest/gen/process"
)

// SendSignal with a grace goes on to its end when the caller leaves.
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
	signal, grace := syscall.Signal(number), time.Duration(request.GetGraceMs())*time.Millisecond
	if grace > 0 {
		err = found.End(signal, min(grace, maxGrace))
	} else {
		err = found.Signal(signal)
	}
	if err != nil {
		return nil, rpcError(err)
	}
	return &process.SendSignalResponse{}, nil
}
