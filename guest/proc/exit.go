package proc

import (
	"fmt"
	"syscall"
)

// Exit is how a command ended.
type Exit struct {
	// 128 + signal number when a signal ended it, as shells count.
	Code int
	// True: it ended by itself.
	Exited bool
	// "exit status 3" or "signal: SIGKILL".
	Status string
	// True: others of its group were still there when its end was told.
	Background bool
}

func exitOf(status syscall.WaitStatus) Exit {
	if status.Signaled() {
		return Exit{Code: 128 + int(status.Signal()), Status: "signal: " + signalName(status.Signal())}
	}
	return Exit{Code: status.ExitStatus(), Exited: true, Status: fmt.Sprintf("exit status %d", status.ExitStatus())}
}

var signalNames = [...]string{
	1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE",
	9: "SIGKILL", 10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM",
	16: "SIGSTKFLT", 17: "SIGCHLD", 18: "SIGCONT", 19: "SIGSTOP", 20: "SIGTSTP", 21: "SIGTTIN", 22: "SIGTTOU",
	23: "SIGURG", 24: "SIGXCPU", 25: "SIGXFSZ", 26: "SIGVTALRM", 27: "SIGPROF", 28: "SIGWINCH", 29: "SIGIO",
	30: "SIGPWR", 31: "SIGSYS",
}

func signalName(number syscall.Signal) string {
	if int(number) < len(signalNames) && signalNames[number] != "" {
		return signalNames[number]
	}
	return fmt.Sprintf("SIG%d", int(number))
}
