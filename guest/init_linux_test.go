package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"

	"emergent.dev/guest/gen/process"
	"emergent.dev/guest/gen/process/processconnect"
)

const (
	token = "secret"
	// roleVariable turns the test program into the agent, so that tests meet a whole one in its own process.
	roleVariable   = "AGENT_TEST_ROLE"
	socketVariable = "AGENT_TEST_SOCKET"
)

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "init":
		os.Exit(runInit(os.Getenv(socketVariable), 500*time.Millisecond))
	case "bridge":
		os.Exit(runBridge(os.Getenv(socketVariable)))
	}
	os.Exit(m.Run())
}

func socketOf(t *testing.T) string {
	return fmt.Sprintf("@agent-test-%d-%s", os.Getpid(), t.Name())
}

func command(t *testing.T, role string, environ ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The argument is what tells a bridge from other processes.
	cmd := exec.Command(self, role)
	cmd.Env = append(os.Environ(), roleVariable+"="+role, socketVariable+"="+socketOf(t))
	cmd.Env = append(cmd.Env, environ...)
	cmd.Stderr = os.Stderr
	return cmd
}

func initCommand(t *testing.T) *exec.Cmd {
	t.Helper()
	hash := sha256.Sum256([]byte(token))
	return command(t, "init", "EMERGENT_TOKEN_SHA256="+hex.EncodeToString(hash[:]), "EMERGENT_WORKDIR="+t.TempDir())
}

func startInit(t *testing.T) *exec.Cmd {
	t.Helper()
	agent := initCommand(t)
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = agent.Process.Signal(syscall.SIGTERM)
		_ = agent.Wait()
	})
	return agent
}

// bridged is a client whose every connection is a bridge process, as the host's are.
func bridged(t *testing.T) processconnect.ProcessClient {
	client := bridgedBy(t, func() *exec.Cmd { return command(t, "bridge") })
	return processconnect.NewProcessClient(client, "http://agent")
}

func bridgedBy(t *testing.T, bridge func() *exec.Cmd) *http.Client {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{
		Protocols:   &protocols,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return dialBridge(bridge()) },
	}
	t.Cleanup(transport.CloseIdleConnections)
	authorized := roundTripper(func(r *http.Request) (*http.Response, error) {
		r.Header.Set("X-Access-Token", token)
		return transport.RoundTrip(r)
	})
	return &http.Client{Transport: authorized}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// bridgeConn is a bridge's standard input and output as one connection.
type bridgeConn struct {
	net.Conn
	in    io.WriteCloser
	out   io.ReadCloser
	close func() error
}

func dialBridge(cmd *exec.Cmd) (net.Conn, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	end := sync.OnceValue(func() error { return errors.Join(in.Close(), cmd.Wait()) })
	return &bridgeConn{in: in, out: out, close: end}, cmd.Start()
}

func (c *bridgeConn) Read(b []byte) (int, error)       { return c.out.Read(b) }
func (c *bridgeConn) Write(b []byte) (int, error)      { return c.in.Write(b) }
func (c *bridgeConn) LocalAddr() net.Addr              { return &net.UnixAddr{} }
func (c *bridgeConn) RemoteAddr() net.Addr             { return &net.UnixAddr{} }
func (c *bridgeConn) SetDeadline(time.Time) error      { return nil }
func (c *bridgeConn) SetReadDeadline(time.Time) error  { return nil }
func (c *bridgeConn) SetWriteDeadline(time.Time) error { return nil }

// Close closes the input: the bridge must end by itself then.
func (c *bridgeConn) Close() error { return c.close() }

type stream = connect.ServerStreamForClient[process.StartResponse]

func startShell(t *testing.T, client processconnect.ProcessClient, script string) *stream {
	t.Helper()
	config := &process.ProcessConfig{Cmd: "sh", Args: []string{"-c", script}}
	events, err := client.Start(t.Context(), &process.StartRequest{Process: config})
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func (s *collected) read(t *testing.T, events *stream, until func() bool) {
	t.Helper()
	for !until() {
		if !events.Receive() {
			t.Fatalf("stream ended: %v, output %q", events.Err(), s.output.String())
		}
		s.output.Write(events.Msg().GetEvent().GetData().GetStdout())
		s.end = events.Msg().GetEvent().GetEnd()
	}
}

type collected struct {
	output bytes.Buffer
	end    *process.ProcessEvent_EndEvent
}

func (s *collected) line(t *testing.T, events *stream) string {
	t.Helper()
	s.read(t, events, func() bool { return bytes.ContainsRune(s.output.Bytes(), '\n') })
	line, err := bufio.NewReader(&s.output).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func TestItRefusesToStartWithoutATokenHash(t *testing.T) {
	err := command(t, "init", "EMERGENT_TOKEN_SHA256=").Run()
	var failed *exec.ExitError
	if !errors.As(err, &failed) || failed.ExitCode() != exitUsage {
		t.Errorf("%v", err)
	}
}

func TestTheBridgeIsDialledBeforeTheAgentIsUp(t *testing.T) {
	client := bridged(t)
	answered := make(chan error, 1)
	go func() {
		_, err := client.List(t.Context(), &process.ListRequest{})
		answered <- err
	}()
	startInit(t)
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

func TestOrphansAreReapedAndExitsKept(t *testing.T) {
	agent := startInit(t)
	client := bridged(t)
	// The inner shell's child is orphaned when the inner shell ends, which the outer one waits for.
	events := startShell(t, client, `
		orphan=$(sh -c 'sleep 1000 >/dev/null & echo $!')
		cut -d ' ' -f 4 /proc/$orphan/stat
		kill $orphan
		while [ -e /proc/$orphan ]; do sleep 0.01; done
		exit 42`)
	var s collected
	if parent := s.line(t, events); parent != strconv.Itoa(agent.Process.Pid) {
		t.Errorf("the orphan's parent is %s, not the agent", parent)
	}
	s.read(t, events, func() bool { return s.end != nil })
	if s.end.GetExitCode() != 42 {
		t.Errorf("%v", s.end)
	}
}

// runs is true for a process that has not ended, waited for or not.
func runs(pid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !bytes.Contains(status, []byte(") Z "))
}

func TestTermEndsEverything(t *testing.T) {
	agent := startInit(t)
	client := bridged(t)
	neighbour := exec.Command("sleep", "1000")
	if err := neighbour.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = neighbour.Process.Kill()
		_ = neighbour.Wait()
	}()
	events := startShell(t, client, "trap '' TERM; sleep 1000 & echo $!; wait; wait")
	var s collected
	child, err := strconv.Atoi(s.line(t, events))
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.read(t, events, func() bool { return s.end != nil })
	if s.end.GetStatus() != "signal: SIGKILL" {
		t.Errorf("%v", s.end)
	}
	if err := agent.Wait(); err != nil {
		t.Errorf("agent: %v", err)
	}
	if err := syscall.Kill(child, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the command's child is still there: %v", err)
	}
	// It is no child of the agent, which is not PID 1.
	if !runs(neighbour.Process.Pid) {
		t.Error("the agent's neighbour is gone")
	}
}
