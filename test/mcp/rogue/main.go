// A tiny MCP server that is correct unless told otherwise; the tests host it in place of real ones, which take
// seconds to start, and have it misbehave on demand.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// options are what the command line says; the zero value is a server that behaves.
type options struct {
	mode     string
	delay    time.Duration
	code     int
	flood    int
	onTerm   string
	stubborn bool
	http     int
	revision string
}

const modes = `how it misbehaves:
exit         ends at once with --code
signal       ends at once by SIGKILL
silent       reads, and never answers
late         answers initialize after --delay
twice        answers everything twice
unknown-ids  answers what nobody asked, before each answer
garbage      prints what is no message around each answer
refuse       answers initialize with an error`

func main() {
	var opts options
	flag.StringVar(&opts.mode, "mode", "good", modes)
	flag.DurationVar(&opts.delay, "delay", time.Second, "how late is late")
	flag.IntVar(&opts.code, "code", 1, "the exit code of --mode exit")
	flag.IntVar(&opts.flood, "flood", 0, "bytes that it writes to standard error while it starts")
	flag.StringVar(&opts.onTerm, "on-term", "", "a file that SIGTERM makes it write before it ends")
	flag.BoolVar(&opts.stubborn, "stubborn", false, "ignores SIGTERM and the end of its input")
	flag.IntVar(&opts.http, "http", 0, "serves Streamable HTTP on this port instead of standard input and output")
	flag.StringVar(&opts.revision, "revision", "", "speaks only this revision of the protocol")
	child := flag.Bool("child", false, "stays until it is killed: what the tool `spawn` leaves behind")
	flag.Parse()

	switch {
	case *child:
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
		stay()
	case opts.mode == "exit":
		fmt.Fprintf(os.Stderr, "ending at once with %d\n", opts.code)
		os.Exit(opts.code)
	case opts.mode == "signal":
		killSelf(syscall.SIGKILL)
	}
	handleTermination(opts)
	if opts.flood > 0 {
		go flood(opts.flood)
	}
	server := newServer(opts)
	if opts.http > 0 {
		fail(server.serveHTTP(opts.http))
	}
	server.serveStdio()
	// The end of its input.
	if opts.stubborn {
		stay()
	}
	server.terminated("end of input")
}

func handleTermination(opts options) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	go func() {
		for range signals {
			if opts.stubborn {
				fmt.Fprintln(os.Stderr, "SIGTERM is ignored")
				continue
			}
			noteTermination(opts, "SIGTERM")
			os.Exit(0)
		}
	}()
}

// noteTermination writes why it ended, where it was told to: a test finds it on the server's volume.
func noteTermination(opts options, why string) {
	if opts.onTerm == "" {
		return
	}
	file, err := os.OpenFile(opts.onTerm, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		fail(err)
	}
	fmt.Fprintln(file, why)
	if err := file.Close(); err != nil {
		fail(err)
	}
}

// flood writes lines of a hundred bytes, each with its number.
func flood(bytes int) {
	for line := 0; line*100 < bytes; line++ {
		fmt.Fprintf(os.Stderr, "flood %-93d\n", line)
	}
}

func killSelf(which syscall.Signal) {
	if err := syscall.Kill(os.Getpid(), which); err != nil {
		fail(err)
	}
	stay()
}

// stay is for ever. A program that only selects nothing would be ended by its runtime.
func stay() {
	for {
		time.Sleep(time.Hour)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(70)
}
