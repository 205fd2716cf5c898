// Agent runs inside a sandbox and does there what the host asks for: it starts commands, keeps their output,
// and reads and writes files. It is one static binary without needs of its own.
//
//	agent init      the sandbox's PID 1: serves the host on streams that come by the abstract socket @emergent-agent
//	agent bridge    hands its standard input and output over to init as such a stream, waiting for it to come up
//	agent tool X    searches the sandbox's files: glob or grep, see guest/tool
//	agent version   prints the version
//
// The environment of `agent init`:
//
//	EMERGENT_TOKEN_SHA256   required: SHA-256, in hexadecimal, of the token that requests must carry
//	EMERGENT_NAMESERVERS    comma-separated addresses for /etc/resolv.conf, which is left alone without them
//	EMERGENT_MEMORY_LIMIT   bytes that all processes may hold together; beyond that the largest is killed
//	EMERGENT_MEMORY_USAGE   "cgroup": what they hold is read there, as the kernel is the host's
//	EMERGENT_WORKDIR        where commands start and relative paths begin; /workspace unless told
//	EMERGENT_USER           who commands run as and new files belong to: user[:group], names or numbers; root unless told
//	EMERGENT_VOLUMES        JSON array of directories that are that user's too, where the engine has made them as root
//	EMERGENT_OWN_HOME       "true": commands have the home of that user, whatever HOME is here
//
// Commands inherit the rest of the environment, with what the sandbox was given by `Adopt` laid over it. What is served
// is described in protocol/.
package main

import (
	"fmt"
	"log"
	"os"
	"time"

	"emergent.dev/guest/bridge"
	"emergent.dev/guest/tool"
)

const (
	socketName  = "@emergent-agent"
	bridgeLimit = 10 * time.Second
)

// Exit codes of the program.
const (
	exitFailure = 1
	exitUsage   = 2
	exitNoAgent = 3
	// The image names a user or group that it does not have.
	exitNoUser = 4
)

// version is set by the linker.
var version = "dev"

func main() {
	log.SetFlags(0)
	log.SetPrefix("agent: ")
	command := ""
	if len(os.Args) == 2 {
		command = os.Args[1]
	} else if len(os.Args) == 3 && os.Args[1] == "tool" {
		os.Exit(tool.Run(os.Args[2], os.Stdin, os.Stdout))
	}
	switch command {
	case "init":
		os.Exit(runInit(socketName, stopGrace))
	case "bridge":
		os.Exit(runBridge(socketName))
	case "version":
		fmt.Println(version)
	default:
		fmt.Fprintln(os.Stderr, "usage: agent init | bridge | tool <name> | version")
		os.Exit(exitUsage)
	}
}

func runBridge(socketName string) int {
	socket, err := bridge.Dial(socketName, bridgeLimit)
	if err != nil {
		log.Printf("bridge: %v", err)
		return exitNoAgent
	}
	if err := bridge.HandOver(socket, int(os.Stdin.Fd()), int(os.Stdout.Fd())); err != nil {
		log.Printf("bridge: %v", err)
		return exitFailure
	}
	return 0
}
