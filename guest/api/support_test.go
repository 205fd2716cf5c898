package api

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"

	"connectrpc.com/connect"

	"emergent.dev/guest/gen/emergent/agent/v1/agentv1connect"
	"emergent.dev/guest/gen/process"
	"emergent.dev/guest/gen/process/processconnect"
	"emergent.dev/guest/memory"
	"emergent.dev/guest/proc"
	"emergent.dev/guest/reaper"
)

const token = "secret"

var children = reaper.New()

// One reaper waits for every child of the test process, as in the agent.
func TestMain(m *testing.M) {
	go children.Run(context.Background())
	os.Exit(m.Run())
}

type fixture struct {
	*testing.T
	table     *proc.Table
	stopping  chan struct{}
	incidents *memory.Incidents
	// http1 and http2 send no token by themselves.
	http1, http2 *http.Client
	processes    processconnect.ProcessClient
	agent        agentv1connect.AgentClient
}

// serve runs the real server on a real socket of the kind that the agent uses.
func serve(t *testing.T) fixture {
	t.Helper()
	table, err := proc.NewTable(proc.Defaults{Workdir: t.TempDir(), Environ: os.Environ()}, children)
	if err != nil {
		t.Fatal(err)
	}
	stopping := make(chan struct{})
	incidents := memory.NewIncidents()
	server := NewServer(Handler(Options{
		Processes:  table,
		Workdir:    t.TempDir(),
		TokenHash:  sha256.Sum256([]byte(token)),
		Identity:   Identity{Version: "v", BootID: "b"},
		Incidents:  incidents,
		MemoryUsed: memory.Sandbox{}.Usage,
		Stopping:   stopping,
	}))
	name := fmt.Sprintf("@api-test-%d-%s", os.Getpid(), t.Name())
	listener, err := net.Listen("unix", name)
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(listener)
	t.Cleanup(func() {
		for _, running := range table.Running() {
			_ = running.Signal(syscall.SIGKILL)
		}
		server.Close()
	})
	var one, two http.Protocols
	one.SetHTTP1(true)
	two.SetUnencryptedHTTP2(true)
	client := func(protocols *http.Protocols) *http.Client {
		return &http.Client{Transport: &http.Transport{
			Protocols: protocols,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "unix", name)
			},
		}}
	}
	f := fixture{T: t, table: table, stopping: stopping, incidents: incidents, http1: client(&one), http2: client(&two)}
	f.processes = f.client(f.http2, token)
	f.agent = agentv1connect.NewAgentClient(f.http2, "http://agent", withToken(token))
	return f
}

func (f fixture) client(over *http.Client, token string, options ...connect.ClientOption) processconnect.ProcessClient {
	return processconnect.NewProcessClient(over, "http://agent", append(options, withToken(token))...)
}

func withToken(token string) connect.ClientOption {
	return connect.WithInterceptors(tokenSender(token))
}

type tokenSender string

func (s tokenSender) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		request.Header().Set("X-Access-Token", string(s))
		return next(ctx, request)
	}
}

func (s tokenSender) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		conn := next(ctx, spec)
		conn.RequestHeader().Set("X-Access-Token", string(s))
		return conn
	}
}

func (s tokenSender) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}

func sh(script string) *process.StartRequest {
	return &process.StartRequest{Process: &process.ProcessConfig{Cmd: "sh", Args: []string{"-c", script}}}
}

func byPid(pid uint32) *process.ProcessSelector {
	return &process.ProcessSelector{Selector: &process.ProcessSelector_Pid{Pid: pid}}
}

// transcript is what a stream told.
type transcript struct {
	pid            uint32
	stdout, stderr string
	pty            string
	keepalives     int
	end            *process.ProcessEvent_EndEvent
}

// eventStream is either of the two streams of events.
type eventStream interface {
	Receive() bool
	Err() error
}

// listen reads events until the stream ends or until says stop.
func listen[S eventStream](stream S, event func(S) *process.ProcessEvent, until func(transcript) bool) (transcript, error) {
	var told transcript
	for stream.Receive() {
		switch e := event(stream).GetEvent().(type) {
		case *process.ProcessEvent_Start:
			told.pid = e.Start.GetPid()
		case *process.ProcessEvent_Data:
			told.stdout += string(e.Data.GetStdout())
			told.stderr += string(e.Data.GetStderr())
			told.pty += string(e.Data.GetPty())
		case *process.ProcessEvent_Keepalive:
			told.keepalives++
		case *process.ProcessEvent_End:
			told.end = e.End
		}
		if until(told) {
			return told, nil
		}
	}
	return told, stream.Err()
}

func whole(transcript) bool { return false }

func startEvent(s *connect.ServerStreamForClient[process.StartResponse]) *process.ProcessEvent {
	return s.Msg().GetEvent()
}

func connectEvent(s *connect.ServerStreamForClient[process.ConnectResponse]) *process.ProcessEvent {
	return s.Msg().GetEvent()
}

func run(ctx context.Context, client processconnect.ProcessClient, request *process.StartRequest) (transcript, error) {
	stream, err := client.Start(ctx, request)
	if err != nil {
		return transcript{}, err
	}
	defer stream.Close()
	return listen(stream, startEvent, whole)
}

func (f fixture) wantCode(what string, want connect.Code, err error) {
	f.Helper()
	if err == nil || connect.CodeOf(err) != want {
		f.Errorf("%s: %v, want %v", what, err, want)
	}
}
