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
	if err := send.start(p); err != nil {
		return err
	}
	exit, err := reader.Follow(ctx, keepaliveInterval(ctx), sinkFor(p, send))
	if err != nil {
		return rpcError(err)
	}
	return send.end(exit)
}

// upToNow streams what there is: without an end if the process still runs.
func upToNow(ctx context.Context, p *proc.Process, reader *proc.Reader, send eventSink) error {
	if err := send.start(p); err != nil {
		return err
	}
	exit, ended, err := reader.UpToNow(ctx, sinkFor(p, send))
	if err != nil || !ended {
		return rpcError(err)
	}
	return send.end(exit)
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

// sinkFor names the output of a terminal by its own name.
func sinkFor(p *proc.Process, send eventSink) proc.Sink {
	if p.Spec.Terminal != nil {
		return terminalSink{send}
	}
	return send
}

type terminalSink struct{ eventSink }

func (s terminalSink) Output(_ proc.Source, data []byte) error {
	event := &process.ProcessEvent_DataEvent{Output: &process.ProcessEvent_DataEvent_Pty{Pty: data}}
	return s.eventSink(&process.ProcessEvent{Event: &process.ProcessEvent_Data{Data: event}})
}

func (send eventSink) start(p *proc.Process) error {
	start := &process.ProcessEvent_StartEvent{Pid: uint32(p.Pid), StartedAtMs: millis(p.Info().StartedAt)}
	return send(&process.ProcessEvent{Event: &process.ProcessEvent_Start{Start: start}})
}

func (send eventSink) end(exit proc.Exit) error {
	return send(&process.ProcessEvent{Event: &process.ProcessEvent_End{End: endEvent(exit)}})
}

func endEvent(exit proc.Exit) *process.ProcessEvent_EndEvent {
	return &process.ProcessEvent_EndEvent{
		ExitCode: int32(exit.Code), Exited: exit.Exited, Status: exit.Status, Background: exit.Background,
	}
}

// millis counts since 1970; a clock that stands before that counts as 0.
func millis(at time.Time) uint64 {
	return uint64(max(at.UnixMilli(), 0))
}

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
