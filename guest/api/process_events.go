package api

import (
	"context"
	"strconv"
	"time"

	"connectrpc.com/connect"

	"emergent.dev/guest/gen/process"
	"emergent.dev/guest/proc"
)

const (
	keepaliveHeader  = "Keepalive-Ping-Interval"
	defaultKeepalive = 90 * time.Second
)

// follow streams a process as events: its start, what the reader yields, its end.
func follow(ctx context.Context, p *proc.Process, reader *proc.Reader, send eventSink) error {
	start := &process.ProcessEvent_StartEvent{Pid: uint32(p.Pid)}
	if err := send(&process.ProcessEvent{Event: &process.ProcessEvent_Start{Start: start}}); err != nil {
		return err
	}
	exit, err := reader.Follow(ctx, keepaliveInterval(ctx), send)
	if err != nil {
		return rpcError(err)
	}
	end := &process.ProcessEvent_EndEvent{ExitCode: int32(exit.Code), Exited: exit.Exited, Status: exit.Status}
	return send(&process.ProcessEvent{Event: &process.ProcessEvent_End{End: end}})
}

// keepaliveInterval is the whole number of seconds that the caller asked for.
func keepaliveInterval(ctx context.Context) time.Duration {
	if call, ok := connect.CallInfoForHandlerContext(ctx); ok {
		seconds, err := strconv.ParseUint(call.RequestHeader().Get(keepaliveHeader), 10, 31)
		if err == nil && seconds > 0 {
			return time.Duration(seconds) * time.Second
		}
	}
	return defaultKeepalive
}

// eventSink turns what a reader finds into events.
type eventSink func(*process.ProcessEvent) error

var _ proc.Sink = eventSink(nil)

func (send eventSink) Output(source proc.Source, data []byte) error {
	event := &process.ProcessEvent_DataEvent{Output: &process.ProcessEvent_DataEvent_Stdout{Stdout: data}}
	if source == proc.Stderr {
		event.Output = &process.ProcessEvent_DataEvent_Stderr{Stderr: data}
	}
	return send(&process.ProcessEvent{Event: &process.ProcessEvent_Data{Data: event}})
}

func (send eventSink) Skipped(bytes uint64) error {
	event := &process.ProcessEvent_SkippedEvent{Bytes: bytes}
	return send(&process.ProcessEvent{Event: &process.ProcessEvent_Skipped{Skipped: event}})
}

func (send eventSink) Idle() error {
	event := &process.ProcessEvent_KeepAlive{}
	return send(&process.ProcessEvent{Event: &process.ProcessEvent_Keepalive{Keepalive: event}})
}
