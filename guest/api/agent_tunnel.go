package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"

	"connectrpc.com/connect"

	agentv1 "emergent.dev/guest/gen/emergent/agent/v1"
)

const (
	dialLimit = 10 * time.Second
	// maxTunnels, each with its window full, leave the better half of a connection's window to all other requests.
	maxTunnels = 250
)

// tunnels counts those that are open.
type tunnels struct {
	mu   sync.Mutex
	open int
}

func (t *tunnels) begin() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open >= maxTunnels {
		err := fmt.Errorf("%d connections are open, and no more are allowed", t.open)
		return connect.NewError(connect.CodeResourceExhausted, err)
	}
	t.open++
	return nil
}

func (t *tunnels) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open--
}

// Tunnel ends with its caller: a connection that nobody is behind is closed.
func (s *agentService) Tunnel(
	ctx context.Context, stream *connect.BidiStream[agentv1.TunnelRequest, agentv1.TunnelResponse],
) error {
	first, err := stream.Receive()
	if err != nil {
		return err
	}
	port := first.GetOpen().GetPort()
	if port < 1 || port > 65535 {
		return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("%d is not a port", port))
	}
	if err := s.tunnels.begin(); err != nil {
		return err
	}
	defer s.tunnels.end()
	conn, err := dialLoopback(ctx, port)
	if err != nil {
		return err
	}
	defer conn.Close()
	opened := &agentv1.TunnelResponse{Message: &agentv1.TunnelResponse_Opened{Opened: &agentv1.TunnelOpened{}}}
	if err := stream.Send(opened); err != nil {
		return err
	}
	return newTunnel(conn, stream).run()
}

// dialLoopback tries the address that most programs listen on first.
func dialLoopback(ctx context.Context, port uint32) (*net.TCPConn, error) {
	dialer := net.Dialer{Timeout: dialLimit}
	var refusals []error
	for _, host := range []string{"127.0.0.1", "::1"} {
		conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(int(port))))
		if err == nil {
			return conn.(*net.TCPConn), nil
		}
		refusals = append(refusals, err)
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			return nil, connect.NewError(connect.CodeDeadlineExceeded, err)
		}
	}
	// A sandbox may have no IPv6 at all; that nobody listens is what the first address says.
	if errors.Is(refusals[0], syscall.ECONNREFUSED) {
		err := fmt.Errorf("nothing listens on port %d", port)
		return nil, connect.NewError(connect.CodeFailedPrecondition, err)
	}
	return nil, rpcError(errors.Join(refusals...))
}
