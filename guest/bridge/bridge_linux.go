// Package bridge brings the host's byte stream to the agent. The engine starts `agent bridge` in the sandbox, whose
// standard input and output are the stream; the bridge hands these two descriptors to the agent and waits.
package bridge

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

const (
	// handOver is the one byte that carries the descriptors.
	handOver = 'h'
	// A connection that is refused tells that the agent has not come up yet.
	firstPause = time.Millisecond
	longPause  = 50 * time.Millisecond
)

// Dial waits until the socket accepts, at most for limit.
func Dial(address string, limit time.Duration) (int, error) {
	deadline := time.Now().Add(limit)
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		socket, err := connect(address)
		if err == nil {
			return socket, nil
		}
		absent := errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT)
		if !absent {
			return -1, err
		}
		if time.Now().Add(pause).After(deadline) {
			return -1, fmt.Errorf("no agent within %s: %w", limit, err)
		}
		time.Sleep(pause)
	}
}

func connect(address string) (int, error) {
	socket, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("make socket: %w", err)
	}
	if err := syscall.Connect(socket, &syscall.SockaddrUnix{Name: address}); err != nil {
		syscall.Close(socket)
		return -1, fmt.Errorf("connect to %s: %w", address, err)
	}
	return socket, nil
}

// HandOver gives in and out to the agent behind the socket, which from then on serves on them itself, and waits
// until it is done with them. Copying the bytes here would double the system calls of every transfer, and under
// gVisor the calls are what a transfer costs.
func HandOver(socket, in, out int) error {
	if err := syscall.Sendmsg(socket, []byte{handOver}, syscall.UnixRights(in, out), nil, 0); err != nil {
		return fmt.Errorf("hand over: %w", err)
	}
	var end [1]byte
	for {
		_, err := syscall.Read(socket, end[:])
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return fmt.Errorf("wait for the agent: %w", err)
		}
		return nil
	}
}
