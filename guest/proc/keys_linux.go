package proc

import (
	"slices"
	"syscall"
	"unsafe"
)

// Of linux/termios.h, which package syscall leaves out.
const (
	tcFlush    = 0x540B
	toTheOther = 1
)

// press writes what is typed. Before a key that sends a signal it throws away what was typed until then and not yet
// read, as Linux does by itself. gVisor does not, and while a whole line waits to be read it does not even look at
// what comes behind it: a program that does not read could not be interrupted.
func (t *terminal) press(keys []byte) (int, error) {
	pressed := 0
	for pressed < len(keys) {
		next := keys[pressed:]
		switch at := t.signalKey(next); at {
		case -1:
		case 0:
			// Not every kernel can; then the key waits behind what was typed.
			_ = t.onFd("forget what was typed", func(fd uintptr) syscall.Errno {
				_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, tcFlush, toTheOther)
				return errno
			})
			next = next[:1]
		default:
			next = next[:at]
		}
		n, err := t.master.Write(next)
		pressed += n
		if err != nil {
			return pressed, err
		}
	}
	return pressed, nil
}

// signalKey is where the first key is that sends a signal and throws away what was typed, by the terminal's present
// settings; -1 when there is none.
func (t *terminal) signalKey(keys []byte) int {
	var settings syscall.Termios
	if t.control("ask for the settings", syscall.TCGETS, unsafe.Pointer(&settings)) != nil {
		return -1
	}
	if settings.Lflag&syscall.ISIG == 0 || settings.Lflag&syscall.NOFLSH != 0 {
		return -1
	}
	of := []byte{settings.Cc[syscall.VINTR], settings.Cc[syscall.VQUIT], settings.Cc[syscall.VSUSP]}
	// NUL says that there is no such key.
	return slices.IndexFunc(keys, func(key byte) bool { return key != 0 && slices.Contains(of, key) })
}
