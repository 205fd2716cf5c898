package api

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"connectrpc.com/connect"

	agentv1 "emergent.dev/guest/gen/emergent/agent/v1"
)

const (
	// tunnelWindow is what a side may have sent without hearing that it was taken.
	tunnelWindow = 64 << 10
	// tunnelChunk is what is read from the port at a time.
	tunnelChunk = 32 << 10
)

// tunnelStream is the caller's side of a tunnel.
type tunnelStream interface {
	Receive() (*agentv1.TunnelRequest, error)
	Send(*agentv1.TunnelResponse) error
}

// tunnel joins a connection and a stream. Each direction goes on when the other has ended or is held back: who takes
// what comes never waits for who passes it on.
type tunnel struct {
	conn   *net.TCPConn
	stream tunnelStream
	// sending lets one message at a time out.
	sending sync.Mutex

	mu sync.Mutex
	// changed is signalled with every change of what follows.
	changed *sync.Cond
	// waiting is what came and the port has not taken.
	waiting []byte
	// ended: nothing more comes.
	ended bool
	// credit is how much more may be sent.
	credit int
	failed error
}

func newTunnel(conn *net.TCPConn, stream tunnelStream) *tunnel {
	t := &tunnel{conn: conn, stream: stream, credit: tunnelWindow}
	t.changed = sync.NewCond(&t.mu)
	return t
}

// run returns when both directions have ended, the one that failed having ended the other: what is sent after that
// would bring the agent down.
func (t *tunnel) run() error {
	// It ends with the stream, which ends when this returns.
	go t.receive()
	both := make(chan error, 2)
	go func() { both <- t.toPort() }()
	go func() { both <- t.fromPort() }()
	for range 2 {
		if err := <-both; err != nil {
			t.fail(err)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed
}

// receive takes what comes as it comes.
func (t *tunnel) receive() {
	for {
		message, err := t.stream.Receive()
		if err != nil {
			t.fail(errors.Join(errors.New("the caller has gone"), err))
			return
		}
		if err := t.take(message); err != nil {
			t.fail(connect.NewError(connect.CodeInvalidArgument, err))
			return
		}
	}
}

func (t *tunnel) take(message *agentv1.TunnelRequest) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.changed.Broadcast()
	switch m := message.GetMessage().(type) {
	case *agentv1.TunnelRequest_Data:
		if t.ended || len(t.waiting)+len(m.Data) > tunnelWindow {
			return errors.New("more data than allowed")
		}
		t.waiting = append(t.waiting, m.Data...)
	case *agentv1.TunnelRequest_End:
		t.ended = true
	case *agentv1.TunnelRequest_Taken:
		if m.Taken > tunnelWindow || t.credit+int(m.Taken) > tunnelWindow {
			return errors.New("more was taken than was sent")
		}
		t.credit += int(m.Taken)
	default:
		return errors.New("an unknown message")
	}
	return nil
}

// toPort passes on what came, and then its end. What a connection that broke does not take is dropped: what came from
// there before is still to be read, and then tells that it broke.
func (t *tunnel) toPort() error {
	var lost error
	for {
		data, err := t.next()
		if err != nil {
			return err
		}
		if data == nil {
			// One that is closed already needs no telling.
			_ = t.conn.CloseWrite()
			return nil
		}
		if lost == nil {
			_, lost = t.conn.Write(data)
		}
		taken := &agentv1.TunnelResponse_Taken{Taken: uint32(len(data))}
		if err := t.send(&agentv1.TunnelResponse{Message: taken}); err != nil {
			return err
		}
	}
}

// next waits for data, which is nil at the end.
func (t *tunnel) next() ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.waiting) == 0 && !t.ended && t.failed == nil {
		t.changed.Wait()
	}
	if t.failed != nil {
		return nil, t.failed
	}
	data := t.waiting
	t.waiting = nil
	return data, nil
}

// fromPort sends what the port says as far as the caller takes it, and then its end.
func (t *tunnel) fromPort() error {
	buffer := make([]byte, tunnelChunk)
	for {
		room, err := t.room(len(buffer))
		if err != nil {
			return err
		}
		n, err := t.conn.Read(buffer[:room])
		t.spend(n)
		if n > 0 {
			data := &agentv1.TunnelResponse_Data{Data: buffer[:n]}
			if err := t.send(&agentv1.TunnelResponse{Message: data}); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return t.send(&agentv1.TunnelResponse{Message: &agentv1.TunnelResponse_End{End: &agentv1.TunnelEnd{}}})
		}
		if err != nil {
			return broken(err)
		}
	}
}

// room waits until something may be sent, and says how much, up to most.
func (t *tunnel) room(most int) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.credit == 0 && t.failed == nil {
		t.changed.Wait()
	}
	return min(t.credit, most), t.failed
}

func (t *tunnel) spend(bytes int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.credit -= bytes
}

func (t *tunnel) send(message *agentv1.TunnelResponse) error {
	t.sending.Lock()
	defer t.sending.Unlock()
	return t.stream.Send(message)
}

// fail ends both directions; the first reason holds. Closing the connection ends a read or a write that waits.
func (t *tunnel) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed == nil {
		t.failed = err
	}
	t.changed.Broadcast()
	t.conn.Close()
}

func broken(err error) error {
	return connect.NewError(connect.CodeAborted, fmt.Errorf("the connection broke: %w", err))
}
