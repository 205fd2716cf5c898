package main

import (
	"context"
	"crypto/rand"
	"errors"
	"log"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"emergent.dev/guest/api"
	"emergent.dev/guest/bridge"
	"emergent.dev/guest/proc"
	"emergent.dev/guest/reaper"
)

const (
	// stopGrace is what commands get between SIGTERM and SIGKILL: nearly all of the ten seconds after which an
	// engine that stops the sandbox kills it.
	stopGrace = 9 * time.Second
	// lastWords is what streams get to deliver how their commands ended.
	lastWords = 250 * time.Millisecond
)

// runInit serves until it is told to stop or cannot go on, and answers with the exit code. grace is what commands
// get to end when it is told to stop.
func runInit(socketName string, grace time.Duration) int {
	// First: the kernel drops signals that PID 1 has no handler for.
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)

	config, err := readConfig()
	if err != nil {
		log.Printf("init: %v", err)
		return exitUsage
	}
	prepareSystem(config)
	becomeReaper()
	children := reaper.New()
	go children.Run(context.Background())

	processes, err := proc.NewTable(proc.Defaults{Workdir: config.workdir, Environ: config.environ}, children)
	if err != nil {
		log.Printf("init: %v", err)
		return exitFailure
	}
	stopping := make(chan struct{})
	server := api.NewServer(api.Handler(api.Options{
		Processes: processes,
		Workdir:   config.workdir,
		TokenHash: config.tokenHash,
		Identity:  api.Identity{Version: version, BootID: rand.Text()},
		Stopping:  stopping,
	}))
	listener, err := bridge.Listen(socketName)
	if err != nil {
		log.Printf("init: %v", err)
		return exitFailure
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()

	code := 0
	select {
	case <-stop:
	case err := <-failed:
		log.Printf("init: serve: %v", err)
		code = exitFailure
	}
	close(stopping)
	if _, err := processes.Terminate(grace); err != nil {
		log.Printf("init: terminate: %v", err)
	}
	closeServer(server)
	return code
}

// prepareSystem does what commands count on. A failure here is told and survived: a sandbox without names or
// with an odd working directory can still be looked into.
func prepareSystem(config config) {
	if err := os.MkdirAll(config.workdir, 0o755); err != nil {
		log.Printf("init: make working directory: %v", err)
	}
	if len(config.nameservers) > 0 {
		if err := os.WriteFile("/etc/resolv.conf", resolvConf(config.nameservers), 0o644); err != nil {
			log.Printf("init: set name servers: %v", err)
		}
	}
}

func resolvConf(nameservers []netip.Addr) []byte {
	var text strings.Builder
	for _, address := range nameservers {
		text.WriteString("nameserver " + address.String() + "\n")
	}
	return []byte(text.String())
}

// becomeReaper lets an agent that is not PID 1, as under an engine's own init, inherit orphans all the same.
func becomeReaper() {
	const setChildSubreaper = 36
	if os.Getpid() == 1 {
		return
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0); errno != 0 {
		log.Printf("init: become the reaper of orphans: %v", errno)
	}
}

func closeServer(server *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	err := server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	if err != nil {
		log.Printf("init: close server: %v", err)
	}
}
