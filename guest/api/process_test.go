package api

import (
	"context"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"emergent.dev/guest/gen/process"
	"emergent.dev/guest/gen/process/processconnect"
)

func TestStartOverEveryWire(t *testing.T) {
	f := serve(t)
	for name, client := range map[string]processconnect.ProcessClient{
		"binary over HTTP/2": f.processes,
		"JSON over HTTP/2":   f.client(f.http2, token, connect.WithProtoJSON()),
		"JSON over HTTP/1.1": f.client(f.http1, token, connect.WithProtoJSON()),
		"gRPC-Web":           f.client(f.http1, token, connect.WithGRPCWeb()),
	} {
		told, err := run(t.Context(), client, sh("echo out; echo err >&2; exit 3"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if told.pid == 0 || told.stdout != "out\n" || told.stderr != "err\n" {
			t.Errorf("%s: %+v", name, told)
		}
		if told.end.GetExitCode() != 3 || !told.end.GetExited() || told.end.GetStatus() != "exit status 3" {
			t.Errorf("%s: %v", name, told.end)
		}
	}
}

func TestRefusals(t *testing.T) {
	f := serve(t)
	missing := "/no/such/directory"
	for name, row := range map[string]struct {
		config *process.ProcessConfig
		want   connect.Code
	}{
		"no process":     {nil, connect.CodeInvalidArgument},
		"no program":     {&process.ProcessConfig{Cmd: "no-such-program"}, connect.CodeNotFound},
		"not executable": {&process.ProcessConfig{Cmd: "/etc/passwd"}, connect.CodePermissionDenied},
		"bad cwd":        {&process.ProcessConfig{Cmd: "true", Cwd: &missing}, connect.CodeInvalidArgument},
	} {
		_, err := run(t.Context(), f.processes, &process.StartRequest{Process: row.config})
		f.wantCode(name, row.want, err)
		if row.want == connect.CodeNotFound && !strings.Contains(err.Error(), row.config.GetCmd()) {
			t.Errorf("%s: %q does not name the program", name, err)
		}
	}
	// No process can have this pid: it is beyond the kernel's limit.
	nobody := byPid(1 << 30)
	_, err := f.processes.SendSignal(t.Context(), &process.SendSignalRequest{Process: nobody, Signal: process.Signal_SIGNAL_SIGTERM})
	f.wantCode("signal to nobody", connect.CodeNotFound, err)
	_, err = f.processes.SendInput(t.Context(), &process.SendInputRequest{Process: nobody})
	f.wantCode("input to nobody", connect.CodeNotFound, err)
	_, err = f.processes.CloseStdin(t.Context(), &process.CloseStdinRequest{Process: nobody})
	f.wantCode("close nobody's stdin", connect.CodeNotFound, err)
	_, err = f.processes.SendSignal(t.Context(), &process.SendSignalRequest{Process: nobody})
	f.wantCode("no signal", connect.CodeInvalidArgument, err)
	_, err = f.processes.CloseStdin(t.Context(), &process.CloseStdinRequest{})
	f.wantCode("no selector", connect.CodeInvalidArgument, err)
	stream, err := f.processes.Connect(t.Context(), &process.ConnectRequest{Process: nobody})
	if err == nil {
		_, err = listen(stream, connectEvent, whole)
	}
	f.wantCode("connect to nobody", connect.CodeNotFound, err)
}

func TestInputSignalAndList(t *testing.T) {
	f := serve(t)
	yes, tag := true, "job"
	request := sh("cat; echo closed; exec sleep 1000")
	request.Stdin, request.Tag = &yes, &tag
	stream, err := f.processes.Start(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	begun, err := listen(stream, startEvent, func(told transcript) bool { return told.pid != 0 })
	if err != nil {
		t.Fatal(err)
	}
	list, err := f.processes.List(t.Context(), &process.ListRequest{})
	if err != nil || len(list.GetProcesses()) != 1 || list.GetProcesses()[0].GetTag() != tag {
		t.Fatalf("%v, %v", list, err)
	}
	input := &process.ProcessInput{Input: &process.ProcessInput_Stdin{Stdin: []byte("hello\n")}}
	if _, err := f.processes.SendInput(t.Context(), &process.SendInputRequest{Process: byPid(begun.pid), Input: input}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.processes.CloseStdin(t.Context(), &process.CloseStdinRequest{Process: byPid(begun.pid)}); err != nil {
		t.Fatal(err)
	}
	closed := func(told transcript) bool { return strings.HasSuffix(told.stdout, "closed\n") }
	if _, err := listen(stream, startEvent, closed); err != nil {
		t.Fatal(err)
	}
	signal := &process.SendSignalRequest{Process: byTag(tag), Signal: process.Signal_SIGNAL_SIGUSR1}
	if _, err := f.processes.SendSignal(t.Context(), signal); err != nil {
		t.Fatal(err)
	}
	told, err := listen(stream, startEvent, whole)
	if err != nil || told.end.GetExitCode() != 138 || told.end.GetExited() || told.end.GetStatus() != "signal: SIGUSR1" {
		t.Errorf("%+v, %v", told, err)
	}
}

func byTag(tag string) *process.ProcessSelector {
	return &process.ProcessSelector{Selector: &process.ProcessSelector_Tag{Tag: tag}}
}

func TestADetachedCommandIsListedAndReadAgain(t *testing.T) {
	f := serve(t)
	yes, tag := true, "job"
	request := sh("echo out; cat; exit 3")
	request.Detached, request.Tag, request.Stdin = true, &tag, &yes
	ctx, leave := context.WithCancel(t.Context())
	stream, err := f.processes.Start(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := listen(stream, startEvent, func(told transcript) bool { return told.stdout != "" }); err != nil {
		t.Fatal(err)
	}
	leave()
	list := func(ended bool) []*process.ProcessInfo {
		list, err := f.processes.List(t.Context(), &process.ListRequest{Ended: ended})
		if err != nil {
			t.Fatal(err)
		}
		return list.GetProcesses()
	}
	running := list(false)
	if len(running) != 1 || !running[0].GetDetached() || running[0].GetTag() != tag || running[0].GetEnd() != nil {
		t.Fatalf("%v", running)
	}
	if running[0].GetEndedAtMs() != 0 || running[0].GetStartedAtMs() == 0 || running[0].GetOutputBytes() != 4 {
		t.Errorf("%v", running)
	}
	now, err := f.processes.Connect(t.Context(), &process.ConnectRequest{Process: byTag(tag), UntilNow: true})
	if err != nil {
		t.Fatal(err)
	}
	if told, err := listen(now, connectEvent, whole); err != nil || told.stdout != "out\n" || told.end != nil {
		t.Errorf("%+v, %v", told, err)
	}
	_, err = run(t.Context(), f.processes, request)
	f.wantCode("the same tag again", connect.CodeAlreadyExists, err)
	if _, err := f.processes.CloseStdin(t.Context(), &process.CloseStdinRequest{Process: byTag(tag)}); err != nil {
		t.Fatal(err)
	}
	for _, untilNow := range []bool{false, true} {
		again, err := f.processes.Connect(t.Context(), &process.ConnectRequest{Process: byTag(tag), Offset: 2, UntilNow: untilNow})
		if err != nil {
			t.Fatal(err)
		}
		if told, err := listen(again, connectEvent, whole); err != nil || told.stdout != "t\n" || told.end.GetExitCode() != 3 {
			t.Errorf("%+v, %v", told, err)
		}
	}
	ended := list(true)
	if len(list(false)) != 0 || len(ended) != 1 || ended[0].GetEnd().GetExitCode() != 3 || !ended[0].GetEnd().GetExited() {
		t.Errorf("%v", ended)
	}
	if ended[0].GetEndedAtMs() < ended[0].GetStartedAtMs() {
		t.Errorf("%v", ended)
	}
}

func TestAListOfHugeCommandsFitsIntoAMessage(t *testing.T) {
	f := serve(t)
	request := sh("exit 0")
	request.Process.Args = append(request.Process.Args, strings.Repeat("é", 50_000), "after")
	if _, err := run(t.Context(), f.processes, request); err != nil {
		t.Fatal(err)
	}
	list, err := f.processes.List(t.Context(), &process.ListRequest{Ended: true})
	if err != nil || len(list.GetProcesses()) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	args := list.GetProcesses()[0].GetConfig().GetArgs()
	if len(args) != 3 || !strings.HasSuffix(args[2], "é…") || len(args[2]) > maxTextBytes {
		t.Errorf("%q", args)
	}
}

// connectTo reads a process to its end by Connect.
func (f fixture) connectTo(pid uint32) transcript {
	f.Helper()
	stream, err := f.processes.Connect(f.Context(), &process.ConnectRequest{Process: byPid(pid)})
	if err != nil {
		f.Fatal(err)
	}
	defer stream.Close()
	told, err := listen(stream, connectEvent, whole)
	if err != nil {
		f.Fatal(err)
	}
	return told
}

func TestACallerThatLeavesDoesNotEndTheCommand(t *testing.T) {
	f := serve(t)
	yes := true
	request := sh("echo before; cat; exit 9")
	request.Stdin = &yes
	ctx, leave := context.WithCancel(t.Context())
	stream, err := f.processes.Start(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	begun, err := listen(stream, startEvent, func(told transcript) bool { return told.stdout != "" })
	if err != nil {
		t.Fatal(err)
	}
	leave()
	input := &process.ProcessInput{Input: &process.ProcessInput_Stdin{Stdin: []byte("after\n")}}
	if _, err := f.processes.SendInput(t.Context(), &process.SendInputRequest{Process: byPid(begun.pid), Input: input}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.processes.CloseStdin(t.Context(), &process.CloseStdinRequest{Process: byPid(begun.pid)}); err != nil {
		t.Fatal(err)
	}
	// Once while it may still run, once when it surely has ended.
	for range 2 {
		told := f.connectTo(begun.pid)
		if told.pid != begun.pid || told.stdout != "before\nafter\n" || told.end.GetExitCode() != 9 {
			t.Errorf("%+v", told)
		}
	}
}

func TestADeadlineEndsTheStreamAndNotTheCommand(t *testing.T) {
	f := serve(t)
	yes := true
	request := sh("cat; exit 6")
	request.Stdin = &yes
	// Reaches the agent as Connect-Timeout-Ms.
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	told, err := run(ctx, f.processes, request)
	f.wantCode("stream", connect.CodeDeadlineExceeded, err)
	if _, err := f.processes.CloseStdin(t.Context(), &process.CloseStdinRequest{Process: byPid(told.pid)}); err != nil {
		t.Fatal(err)
	}
	if told := f.connectTo(told.pid); told.end.GetExitCode() != 6 {
		t.Errorf("%+v", told)
	}
}

func TestKeepalives(t *testing.T) {
	f := serve(t)
	ctx, call := connect.NewClientContext(t.Context())
	call.RequestHeader().Set(keepaliveHeader, "1")
	stream, err := f.processes.Start(ctx, sh("exec sleep 1000"))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if _, err := listen(stream, startEvent, func(told transcript) bool { return told.keepalives == 1 }); err != nil {
		t.Error(err)
	}
}
