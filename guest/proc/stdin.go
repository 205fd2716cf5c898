package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// stdin is the agent's end of a command's standard input, which may be its terminal; a nil *stdin belongs to a command that has none.
type stdin struct {
	pipe *os.File
	// put writes to the pipe; to a terminal as its keys are pressed.
	put func([]byte) (int, error)
	// turn lets one writer at a time in, so that inputs do not mix.
	turn chan struct{}
}

func newStdin(ours pipes) *stdin {
	pipe := ours.input()
	if pipe == nil {
		return nil
	}
	put := pipe.Write
	if ours.terminal != nil {
		put = ours.terminal.press
	}
	return &stdin{pipe: pipe, put: put, turn: make(chan struct{}, 1)}
}

// write returns when the pipe has taken everything, or fails when ctx ends first: a command that does not read
// fills its pipe. What the pipe took until then stays written.
func (s *stdin) write(ctx context.Context, data []byte) error {
	if s == nil {
		return fmt.Errorf("%w: the command was started without it", ErrNoStdin)
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = s.pipe.SetWriteDeadline(time.Unix(1, 0))
		close(interrupted)
	})
	n, err := s.put(data)
	if !stop() {
		<-interrupted
		_ = s.pipe.SetWriteDeadline(time.Time{})
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("write to standard input, %d of %d bytes taken: %w", n, len(data), context.Cause(ctx))
	case errors.Is(err, os.ErrClosed):
		return fmt.Errorf("%w: it was closed", ErrNoStdin)
	case errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.EIO), errors.Is(err, io.ErrShortWrite):
		return fmt.Errorf("%w: the command closed it", ErrNoStdin)
	default:
		return fmt.Errorf("write to standard input: %w", err)
	}
}

// close gives the command end-of-file; it interrupts a write under way and may be called again.
func (s *stdin) close() {
	if s != nil {
		s.pipe.Close()
	}
}

// WriteStdin feeds the command's standard input, or what is typed at its terminal.
func (p *Process) WriteStdin(ctx context.Context, data []byte) error {
	return p.stdin.write(ctx, data)
}

// CloseStdin gives the command end-of-file. Closing twice, or when the command has ended, is not an error.
func (p *Process) CloseStdin() error {
	if p.stdin == nil {
		return fmt.Errorf("%w: the command was started without it", ErrNoStdin)
	}
	if p.terminal != nil {
		return fmt.Errorf("%w: a terminal is not closed, it takes an end-of-file character", ErrNoStdin)
	}
	p.stdin.close()
	return nil
}
