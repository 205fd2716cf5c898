package bridge

import (
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"syscall"
	"time"
)

// handOverLimit is what a bridge gets between connecting and handing over.
const handOverLimit = 10 * time.Second

// Listener turns the streams that bridges hand over into connections.
type Listener struct {
	socket *net.UnixListener
	conns  chan net.Conn
	failed chan error
	closed chan struct{}
}

var _ net.Listener = (*Listener)(nil)

// Listen waits for bridges on a unix socket.
func Listen(address string) (*Listener, error) {
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: address, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	l := &Listener{socket, make(chan net.Conn), make(chan error, 1), make(chan struct{})}
	go l.run()
	return l, nil
}

// run takes each bridge on a goroutine of its own: one that hands nothing over holds up no other.
func (l *Listener) run() {
	for {
		bridge, err := l.socket.AcceptUnix()
		if err != nil {
			l.failed <- err
			return
		}
		go l.take(bridge)
	}
}

func (l *Listener) take(bridge *net.UnixConn) {
	in, out, err := receive(bridge)
	if err != nil {
		log.Printf("bridge: %v", err)
		bridge.Close()
		return
	}
	select {
	case l.conns <- newConn(bridge, in, out):
	case <-l.closed:
		in.Close()
		out.Close()
		bridge.Close()
	}
}

func (l *Listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case err := <-l.failed:
		l.failed <- err
		return nil, err
	}
}

func (l *Listener) Close() error {
	select {
	case <-l.closed:
		return nil
	default:
		close(l.closed)
		return l.socket.Close()
	}
}

func (l *Listener) Addr() net.Addr { return l.socket.Addr() }

// receive takes the two descriptors that come with a bridge's first byte.
func receive(bridge *net.UnixConn) (in, out *os.File, err error) {
	if err := bridge.SetReadDeadline(time.Now().Add(handOverLimit)); err != nil {
		return nil, nil, fmt.Errorf("set deadline: %w", err)
	}
	var first [1]byte
	rights := make([]byte, syscall.CmsgSpace(2*4))
	_, n, _, _, err := bridge.ReadMsgUnix(first[:], rights)
	if err != nil {
		return nil, nil, fmt.Errorf("receive descriptors: %w", err)
	}
	messages, err := syscall.ParseSocketControlMessage(rights[:n])
	if err != nil {
		return nil, nil, fmt.Errorf("parse descriptors: %w", err)
	}
	var fds []int
	for _, message := range messages {
		some, err := syscall.ParseUnixRights(&message)
		if err != nil {
			return nil, nil, fmt.Errorf("parse descriptors: %w", err)
		}
		fds = append(fds, some...)
	}
	if len(fds) != 2 {
		for _, fd := range fds {
			syscall.Close(fd)
		}
		return nil, nil, errors.New("a bridge did not hand over two descriptors")
	}
	for _, fd := range fds {
		syscall.CloseOnExec(fd)
	}
	return os.NewFile(uintptr(fds[0]), "stream in"), os.NewFile(uintptr(fds[1]), "stream out"), nil
}
