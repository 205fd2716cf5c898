package tool

import (
	"errors"
	"io"
	"syscall"
)

// plainFile reads a file with nothing but open, read and close: what os.File adds to be able to wait costs more
// than the reading itself where system calls are dear and files are small.
type plainFile int

// openPlain does not wait: what was a file a moment ago may be a pipe now, and opening one waits for its writer.
func openPlain(path string) (plainFile, error) {
	for {
		file, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
		if !errors.Is(err, syscall.EINTR) {
			return plainFile(file), err
		}
	}
}

func (f plainFile) Read(buffer []byte) (int, error) {
	for {
		count, err := syscall.Read(int(f), buffer)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return 0, err
		case count == 0:
			return 0, io.EOF
		}
		return count, nil
	}
}

// close has nothing to lose: the file was only read.
func (f plainFile) close() { _ = syscall.Close(int(f)) }
