package bridge

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"
)

func socketName(t *testing.T) string {
	return fmt.Sprintf("@bridge-test-%d-%s", os.Getpid(), t.Name())
}

func pipe(t *testing.T) (read, write *os.File) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		read.Close()
		write.Close()
	})
	return read, write
}

func listen(t *testing.T) *Listener {
	t.Helper()
	listener, err := Listen(socketName(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener
}

// host is the engine's side of a bridge: what it writes to the bridge and what it reads from it.
type host struct {
	in    *os.File
	out   *os.File
	ended chan error
}

// open runs a bridge as the engine does, over two pipes, and closes the bridge's own ends when it is over.
func open(t *testing.T) host {
	t.Helper()
	inRead, inWrite := pipe(t)
	outRead, outWrite := pipe(t)
	socket, err := Dial(socketName(t), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	h := host{inWrite, outRead, make(chan error, 1)}
	in, out := int(inRead.Fd()), int(outWrite.Fd())
	go func() {
		err := HandOver(socket, in, out)
		inRead.Close()
		outWrite.Close()
		syscall.Close(socket)
		h.ended <- err
	}()
	return h
}

func accept(t *testing.T, listener net.Listener) net.Conn {
	t.Helper()
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestTwentyMegabytesBothWays(t *testing.T) {
	listener := listen(t)
	up, down := make([]byte, 20<<20), make([]byte, 20<<20)
	rand.Read(up)
	rand.Read(down)
	h := open(t)
	conn := accept(t, listener)
	sent := make(chan error, 2)
	go func() {
		_, err := conn.Write(down)
		sent <- err
	}()
	go func() {
		_, err := h.in.Write(up)
		h.in.Close()
		sent <- err
	}()
	arrived := make(chan []byte, 1)
	go func() {
		got, err := io.ReadAll(conn)
		if err != nil {
			t.Error(err)
		}
		arrived <- got
	}()
	got := make([]byte, len(down))
	if _, err := io.ReadFull(h.out, got); err != nil || !bytes.Equal(got, down) {
		t.Errorf("what came down differs, %v", err)
	}
	if got := <-arrived; !bytes.Equal(got, up) {
		t.Errorf("%d bytes went up", len(got))
	}
	for range 2 {
		if err := <-sent; err != nil {
			t.Error(err)
		}
	}
	conn.Close()
	if err := <-h.ended; err != nil {
		t.Error(err)
	}
	if _, err := h.out.Read(got); err != io.EOF {
		t.Errorf("the output is still open: %v", err)
	}
}

func TestItWaitsForTheSocket(t *testing.T) {
	dialled := make(chan error, 1)
	go func() {
		_, err := Dial(socketName(t), time.Minute)
		dialled <- err
	}()
	if _, err := Dial(socketName(t), 0); err == nil {
		t.Fatal("connected to nothing")
	}
	select {
	case err := <-dialled:
		t.Fatalf("did not wait: %v", err)
	default:
	}
	listen(t)
	if err := <-dialled; err != nil {
		t.Error(err)
	}
}

func TestAWriteToAHostThatIsGoneFails(t *testing.T) {
	listener := listen(t)
	h := open(t)
	conn := accept(t, listener)
	h.out.Close()
	if _, err := conn.Write([]byte("hello")); err == nil {
		t.Error("written to nobody")
	}
	conn.Close()
	if err := <-h.ended; err != nil {
		t.Error(err)
	}
}

func TestABridgeThatHandsNothingOverHoldsUpNoOther(t *testing.T) {
	listener := listen(t)
	idle, err := Dial(socketName(t), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(idle)
	h := open(t)
	conn := accept(t, listener)
	if _, err := h.in.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		t.Error(err)
	}
	conn.Close()
	if err := <-h.ended; err != nil {
		t.Error(err)
	}
}

func TestOneDescriptorIsNotEnough(t *testing.T) {
	listen(t)
	socket, err := Dial(socketName(t), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(socket)
	read, _ := pipe(t)
	if err := syscall.Sendmsg(socket, []byte{handOver}, syscall.UnixRights(int(read.Fd())), nil, 0); err != nil {
		t.Fatal(err)
	}
	if n, err := syscall.Read(socket, make([]byte, 1)); n != 0 || err != nil {
		t.Errorf("not refused: %d, %v", n, err)
	}
}

func TestAClosedListenerAcceptsNothing(t *testing.T) {
	listener := listen(t)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := listener.Accept(); err == nil {
		t.Error("accepted")
	}
	if err := listener.Close(); err != nil {
		t.Errorf("a second close: %v", err)
	}
}
