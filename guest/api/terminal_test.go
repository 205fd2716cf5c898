package api

import (
	"strings"
	"testing"

	"connectrpc.com/connect"

	"emergent.dev/guest/gen/process"
)

func pty(cols, rows uint32) *process.PTY {
	return &process.PTY{Size: &process.PTY_Size{Cols: cols, Rows: rows}}
}

func TestATerminalOverTheWire(t *testing.T) {
	f := serve(t)
	tag := "shell"
	request := sh("stty -echo; echo ready; read line; stty size; exit 4")
	request.Pty, request.Tag, request.Detached = pty(80, 24), &tag, true
	stream, err := f.processes.Start(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	ready := func(told transcript) bool { return strings.HasSuffix(told.pty, "ready\r\n") }
	if _, err := listen(stream, startEvent, ready); err != nil {
		t.Fatal(err)
	}
	if _, err := f.processes.Update(t.Context(), &process.UpdateRequest{Process: byTag(tag), Pty: pty(101, 33)}); err != nil {
		t.Fatal(err)
	}
	typed := &process.ProcessInput{Input: &process.ProcessInput_Pty{Pty: []byte("go\n")}}
	if _, err := f.processes.SendInput(t.Context(), &process.SendInputRequest{Process: byTag(tag), Input: typed}); err != nil {
		t.Fatal(err)
	}
	told, err := listen(stream, startEvent, whole)
	if err != nil || told.pty != "33 101\r\n" || told.stdout != "" || told.end.GetExitCode() != 4 {
		t.Errorf("%+v, %v", told, err)
	}
	again, err := f.processes.Connect(t.Context(), &process.ConnectRequest{Process: byTag(tag), Offset: 7})
	if err != nil {
		t.Fatal(err)
	}
	if told, err := listen(again, connectEvent, whole); err != nil || told.pty != "33 101\r\n" {
		t.Errorf("%+v, %v", told, err)
	}
}

func TestTerminalRefusals(t *testing.T) {
	f := serve(t)
	request := sh("exit 0")
	request.Pty = pty(0, 24)
	_, err := run(t.Context(), f.processes, request)
	f.wantCode("no columns", connect.CodeInvalidArgument, err)
	request.Pty = &process.PTY{}
	_, err = run(t.Context(), f.processes, request)
	f.wantCode("no size", connect.CodeInvalidArgument, err)

	tag := "plain"
	plain := sh("exec sleep 1000")
	plain.Tag = &tag
	stream, err := f.processes.Start(t.Context(), plain)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if _, err := listen(stream, startEvent, func(told transcript) bool { return told.pid != 0 }); err != nil {
		t.Fatal(err)
	}
	_, err = f.processes.Update(t.Context(), &process.UpdateRequest{Process: byTag(tag), Pty: pty(80, 24)})
	f.wantCode("resize without a terminal", connect.CodeFailedPrecondition, err)
	_, err = f.processes.Update(t.Context(), &process.UpdateRequest{Process: byTag(tag)})
	if err != nil {
		t.Errorf("an update of nothing: %v", err)
	}
	_, err = f.processes.Update(t.Context(), &process.UpdateRequest{Process: byTag("nobody"), Pty: pty(80, 24)})
	f.wantCode("resize nobody", connect.CodeNotFound, err)
}
