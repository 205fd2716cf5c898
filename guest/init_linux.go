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

	"emergent.dev/guest/account"
	"emergent.dev/guest/api"
	"emergent.dev/guest/bridge"
	"emergent.dev/guest/files"
	"emergent.dev/guest/memory"
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
		if errors.Is(err, account.ErrUnknown) {
			return exitNoUser
		}
		return exitUsage
	}
	reserveThreads(spareThreads)
	prepareSystem(config)
	becomeReaper()
	children := reaper.New()
	go children.Run(context.Background())

	defaults := proc.Defaults{
		Workdir:    config.workdir,
		Environ:    config.environ,
		Credential: config.account.Credential(),
	}
	processes, err := proc.NewTable(defaults, children)
	if err != nil {
		log.Printf("init: %v", err)
		return exitFailure
	}
	incidents := memory.NewIncidents()
	sandbox, err := watchMemory(config, processes, incidents)
	if err != nil {
		log.Printf("init: watch memory: %v", err)
		return exitFailure
	}
	stopping := make(chan struct{})
	server := api.NewServer(api.Handler(api.Options{
		Processes:  processes,
		Workdir:    config.workdir,
		Owner:      ownerOf(config.account),
		TokenHash:  config.tokenHash,
		Identity:   api.Identity{Version: version, BootID: rand.Text()},
		Incidents:  incidents,
		MemoryUsed: sandbox.Usage,
		Stopping:   stopping,
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

// watchMemory keeps the processes within their limit, where there is one.
func watchMemory(config config, processes *proc.Table, incidents *memory.Incidents) (memory.Sandbox, error) {
	sandbox := memory.Sandbox{Started: processes.Started()}
	if config.memoryLimit == 0 {
		return sandbox, nil
	}
	if config.sharedKernel {
		group, err := memory.FindCgroup()
		if err != nil {
			return sandbox, err
		}
		sandbox.Used = group.Usage
		kernel := &memory.KernelKills{
			Limit: config.memoryLimit, Count: group.Kills, Largest: sandbox.Largest, Incidents: incidents, TagOf: processes.TagOf,
		}
		go kernel.Run(context.Background())
	}
	watchdog := memory.NewWatchdog(config.memoryLimit, sandbox, incidents, processes.TagOf)
	go watchdog.Run(context.Background())
	return sandbox, nil
}

// prepareSystem does what commands count on. A failure here is told and survived: a sandbox without names or
// with an odd working directory can still be looked into.
func prepareSystem(config config) {
	if err := os.MkdirAll(config.workdir, 0o755); err != nil {
		log.Printf("init: make working directory: %v", err)
	} else if err := handOver(config.workdir, config.account); err != nil {
		log.Printf("init: hand over working directory: %v", err)
	}
	for _, volume := range config.volumes {
		if err := handOver(volume, config.account); err != nil {
			log.Printf("init: hand over %s: %v", volume, err)
		}
	}
	if err := files.Sweep(config.workdir); err != nil {
		log.Printf("init: %v", err)
	}
	if len(config.nameservers) > 0 {
		if err := os.WriteFile("/etc/resolv.conf", resolvConf(config.nameservers), 0o644); err != nil {
			log.Printf("init: set name servers: %v", err)
		}
	}
}

// handOver makes the user the owner of a directory that the engine has just made as root; one that belongs to
// somebody is theirs.
func handOver(dir string, user account.Account) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	owner, known := info.Sys().(*syscall.Stat_t)
	if !known || owner.Uid != 0 || user.UID == 0 {
		return nil
	}
	return os.Chown(dir, int(user.UID), int(user.GID))
}

// ownerOf is nil where new files belong to the agent's own user.
func ownerOf(user account.Account) *files.Owner {
	if user.UID == 0 && user.GID == 0 {
		return nil
	}
	return &files.Owner{UID: int(user.UID), GID: int(user.GID)}
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
