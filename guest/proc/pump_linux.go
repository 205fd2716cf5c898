package proc

import (
	"errors"
	"os"
	"syscall"
	"time"
	"unsafe"
)

// drainGrace is how long after a command's exit its outputs may stay open before its end is reported. Without
// a bound, a background child that inherited them would keep the command's stream open for as long as it lives.
const drainGrace = 250 * time.Millisecond

const pumpBuffer = 32 << 10

// pump moves one output of a command into its log until end-of-file. It calls drained once: at end-of-file, or
// when the pipe's read deadline (set at the command's exit) has passed and everything that was in the pipe by
// then is in the log. In the second case it goes on reading, so that a background child is not killed by
// SIGPIPE.
func pump(source Source, pipe *os.File, log *outputLog, drained func()) {
	defer pipe.Close()
	buffer := make([]byte, pumpBuffer)
	draining := true
	for {
		n, err := pipe.Read(buffer)
		log.append(source, buffer[:n])
		switch {
		case err == nil:
		case draining && errors.Is(err, os.ErrDeadlineExceeded):
			draining = false
			pipe.SetReadDeadline(time.Time{})
			takeWaiting(source, pipe, log, buffer)
			drained()
		default:
			if draining {
				drained()
			}
			return
		}
	}
}

// takeWaiting reads what is in the pipe now and no more. A slow reader may have kept the pump from reading
// until after the deadline: what the command itself wrote is all here.
func takeWaiting(source Source, pipe *os.File, log *outputLog, buffer []byte) {
	for left := waitingIn(pipe); left > 0; {
		n, err := pipe.Read(buffer[:min(left, len(buffer))])
		log.append(source, buffer[:n])
		left -= n
		if err != nil {
			return
		}
	}
}

func waitingIn(pipe *os.File) int {
	conn, err := pipe.SyscallConn()
	if err != nil {
		return 0
	}
	var count int32
	control := func(fd uintptr) {
		_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCINQ, uintptr(unsafe.Pointer(&count)))
		if errno != 0 {
			count = 0
		}
	}
	if conn.Control(control) != nil {
		return 0
	}
	return int(count)
}
