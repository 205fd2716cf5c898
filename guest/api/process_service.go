package api

import (
	"context"
	"errors"

	"connectrpc.com/connect"

	"emergent.dev/guest/gen/process"
	"emergent.dev/guest/gen/process/processconnect"
	"emergent.dev/guest/proc"
)

type processService struct {
	table *proc.Table
}

var _ processconnect.ProcessHandler = (*processService)(nil)

func (s *processService) find(selector *process.ProcessSelector) (*proc.Process, error) {
	var found *proc.Process
	var err error
	switch by := selector.GetSelector().(type) {
	case *process.ProcessSelector_Pid:
		found, err = s.table.ByPid(by.Pid)
	case *process.ProcessSelector_Tag:
		found, err = s.table.ByTag(by.Tag)
	default:
		return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("name the process by pid or tag"))
	}
	return found, rpcError(err)
}

var codes = []struct {
	is   error
	code connect.Code
}{
	{proc.ErrNoProcess, connect.CodeNotFound},
	{proc.ErrProgramNotFound, connect.CodeNotFound},
	{proc.ErrNotExecutable, connect.CodePermissionDenied},
	{proc.ErrNotPermitted, connect.CodePermissionDenied},
	{proc.ErrBadDirectory, connect.CodeInvalidArgument},
	{proc.ErrBadArgument, connect.CodeInvalidArgument},
	{proc.ErrTagTaken, connect.CodeAlreadyExists},
	{proc.ErrStopping, connect.CodeAborted},
	{proc.ErrEmptying, connect.CodeFailedPrecondition},
	{proc.ErrNoResources, connect.CodeResourceExhausted},
	{proc.ErrNoStdin, connect.CodeFailedPrecondition},
	{proc.ErrNoTerminal, connect.CodeFailedPrecondition},
	{context.DeadlineExceeded, connect.CodeDeadlineExceeded},
	{context.Canceled, connect.CodeCanceled},
}

// rpcError gives an error its code; one that has a code already keeps it, and nil stays nil.
func rpcError(err error) error {
	var coded *connect.Error
	if err == nil || errors.As(err, &coded) {
		return err
	}
	for _, row := range codes {
		if errors.Is(err, row.is) {
			return connect.NewError(row.code, err)
		}
	}
	return connect.NewError(connect.CodeInternal, err)
}
