package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"connectrpc.com/connect"

	agentv1 "emergent.dev/guest/gen/emergent/agent/v1"
)

type caller struct {
	fixture
	*connect.BidiStreamForClientSimple[agentv1.TunnelRequest, agentv1.TunnelResponse]
}

// port runs serve with every connection to a port of its own.
func port(t *testing.T, network string, serve func(*net.TCPConn)) uint32 {
	t.Helper()
	address := map[string]string{"tcp4": "127.0.0.1:0", "tcp6": "[::1]:0"}[network]
	listener, err := net.Listen(network, address)
	if err != nil {
		t.Skipf("no %s here: %v", network, err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(conn.(*net.TCPConn))
		}
	}()
	return uint32(listener.Addr().(*net.TCPAddr).Port)
}

func (f fixture) tunnel(ctx context.Context, port uint32) (caller, error) {
	stream, err := f.agent.Tunnel(ctx)
	if err != nil {
		f.Fatal(err)
	}
	c := caller{f, stream}
	c.say(&agentv1.TunnelRequest{Message: &agentv1.TunnelRequest_Open{Open: &agentv1.TunnelOpen{Port: port}}})
	opened, err := stream.Receive()
	if err == nil && opened.GetOpened() == nil {
		f.Fatalf("not opened: %v", opened)
	}
	return c, err
}

func (c caller) say(message *agentv1.TunnelRequest) {
	c.Helper()
	if err := c.Send(message); err != nil {
		c.Fatal(err)
	}
}

func (c caller) data(text []byte) {
	c.Helper()
	c.say(&agentv1.TunnelRequest{Message: &agentv1.TunnelRequest_Data{Data: text}})
}

func (c caller) end() {
	c.Helper()
	c.say(&agentv1.TunnelRequest{Message: &agentv1.TunnelRequest_End{End: &agentv1.TunnelEnd{}}})
}

// hear reads until the port's end or an error, taking nothing, and answers with all data and what was taken.
func (c caller) hear(until func(data []byte, taken uint32) bool) (data []byte, taken uint32, err error) {
	for {
		message, err := c.Receive()
		if err != nil {
			return data, taken, err
		}
		data = append(data, message.GetData()...)
		taken += message.GetTaken()
		if message.GetEnd() != nil || until(data, taken) {
			return data, taken, nil
		}
	}
}

func never([]byte, uint32) bool { return false }

func echo(conn *net.TCPConn) {
	defer conn.Close()
	_, _ = io.Copy(conn, conn)
}

func TestTunnelCarriesBothWaysAndEndsWithBoth(t *testing.T) {
	f := serve(t)
	for _, network := range []string{"tcp4", "tcp6"} {
		c, err := f.tunnel(t.Context(), port(t, network, echo))
		if err != nil {
			t.Fatal(err)
		}
		c.data([]byte("hello"))
		if data, _, err := c.hear(func(data []byte, taken uint32) bool { return len(data) == 5 && taken == 5 }); err != nil || string(data) != "hello" {
			t.Errorf("%q, %v", data, err)
		}
		c.end()
		if data, _, err := c.hear(never); err != nil || len(data) > 0 {
			t.Errorf("%q, %v", data, err)
		}
		if _, err := c.Receive(); !errors.Is(err, io.EOF) {
			t.Errorf("after both ends: %v", err)
		}
		c.CloseRequest()
		c.CloseResponse()
	}
}

func TestTunnelSendsNoMoreThanIsTaken(t *testing.T) {
	f := serve(t)
	c, err := f.tunnel(t.Context(), port(t, "tcp4", func(conn *net.TCPConn) {
		_, _ = conn.Write(bytes.Repeat([]byte("x"), 3*tunnelWindow))
		_, _ = io.Copy(conn, conn)
		conn.Close()
	}))
	if err != nil {
		t.Fatal(err)
	}
	full := func(data []byte, _ uint32) bool { return len(data) == tunnelWindow }
	if _, _, err := c.hear(full); err != nil {
		t.Fatal(err)
	}
	// Were there more, it would come before this is taken; the other direction goes on meanwhile.
	c.data([]byte("hello"))
	data, _, err := c.hear(func(_ []byte, taken uint32) bool { return taken == 5 })
	if err != nil || len(data) > 0 {
		t.Fatalf("%d bytes too many, %v", len(data), err)
	}
	for range 2 {
		c.say(&agentv1.TunnelRequest{Message: &agentv1.TunnelRequest_Taken{Taken: tunnelWindow}})
		if _, _, err := c.hear(full); err != nil {
			t.Fatal(err)
		}
	}
	c.CloseRequest()
	c.CloseResponse()
}

func TestTunnelHoldsItsCallerToTheRules(t *testing.T) {
	f := serve(t)
	deaf := port(t, "tcp4", func(conn *net.TCPConn) {
		<-t.Context().Done()
		conn.Close()
	})
	for name, message := range map[string]*agentv1.TunnelRequest{
		"too much data":  {Message: &agentv1.TunnelRequest_Data{Data: make([]byte, tunnelWindow+1)}},
		"too much taken": {Message: &agentv1.TunnelRequest_Taken{Taken: 1}},
		"a second open":  {Message: &agentv1.TunnelRequest_Open{Open: &agentv1.TunnelOpen{Port: deaf}}},
	} {
		c, err := f.tunnel(t.Context(), deaf)
		if err != nil {
			t.Fatal(err)
		}
		c.say(message)
		_, _, err = c.hear(never)
		f.wantCode(name, connect.CodeInvalidArgument, err)
		c.CloseRequest()
		c.CloseResponse()
	}
}

func TestTunnelTellsWhatIsWrong(t *testing.T) {
	f := serve(t)
	closed := port(t, "tcp4", echo)
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	unused := uint32(listener.Addr().(*net.TCPAddr).Port)
	listener.Close()
	_, err = f.tunnel(t.Context(), unused)
	f.wantCode("nobody listens", connect.CodeFailedPrecondition, err)
	for _, wrong := range []uint32{0, 65536} {
		_, err = f.tunnel(t.Context(), wrong)
		f.wantCode("no port", connect.CodeInvalidArgument, err)
	}
	rude := port(t, "tcp4", func(conn *net.TCPConn) {
		_, _ = conn.Read(make([]byte, 1))
		_ = conn.SetLinger(0)
		conn.Close()
	})
	c, err := f.tunnel(t.Context(), rude)
	if err != nil {
		t.Fatal(err)
	}
	c.data([]byte("hello"))
	_, _, err = c.hear(never)
	f.wantCode("broken off", connect.CodeAborted, err)
	var open []caller
	for range maxTunnels {
		c, err := f.tunnel(t.Context(), closed)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}
	_, err = f.tunnel(t.Context(), closed)
	f.wantCode("too many", connect.CodeResourceExhausted, err)
	open[0].end()
	if _, _, err := open[0].hear(never); err != nil {
		t.Fatal(err)
	}
	if _, err := open[0].Receive(); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if _, err := f.tunnel(t.Context(), closed); err != nil {
		t.Errorf("when one has ended: %v", err)
	}
}

func TestTunnelOfACallerThatLeavesIsClosed(t *testing.T) {
	f := serve(t)
	left := make(chan error, 1)
	c, err := f.tunnel(t.Context(), port(t, "tcp4", func(conn *net.TCPConn) {
		_, err := io.Copy(io.Discard, conn)
		left <- err
	}))
	if err != nil {
		t.Fatal(err)
	}
	c.CloseRequest()
	<-left
}
