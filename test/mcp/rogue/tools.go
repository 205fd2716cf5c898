package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// call is one use of a tool.
type call struct {
	*server
	ctx  context.Context
	args params
	// send reaches the client that called.
	send func(message)
}

type tool struct {
	about string
	run   func(call) (object, error)
}

var tools map[string]tool

func init() {
	tools = map[string]tool{
		"add":          {"Adds a and b.", add},
		"ask":          {"Asks the client: method, params.", askClient},
		"big":          {"Answers with as many bytes.", big},
		"children":     {"Leaves as many children behind, in sessions of their own.", children},
		"close_stdout": {"Closes its standard output and lives on.", closeStdout},
		"counter":      {"One more than last time.", count},
		"dial":         {"Tries to reach an address.", dial},
		"echo":         {"Says it back.", echo},
		"env":          {"A variable of its environment.", env},
		"exit":         {"Ends with this code, without an answer.", exit},
		"flood":        {"Writes as many bytes to standard error.", floodNow},
		"interfaces":   {"Its network addresses.", interfaces},
		"log":          {"Logs a message, at a level.", logMessage},
		"mute":         {"Answers nothing from now on, this call included.", mute},
		"processes":    {"Every process that it sees.", processes},
		"read":         {"A file's text.", read},
		"signal":       {"Ends itself by a signal, by its number.", signalSelf},
		"sleep":        {"Answers after as many milliseconds, telling of its steps.", sleep},
		"tell":         {"Tells every client that its tools have changed.", tell},
		"who":          {"Who and where it is.", who},
		"write":        {"Writes text into a file.", write},
	}
}

func toolList() []object {
	list := make([]object, 0, len(tools))
	for name, tool := range tools {
		schema := object{"type": "object", "additionalProperties": true}
		list = append(list, object{"name": name, "description": tool.about, "inputSchema": schema})
	}
	sort.Slice(list, func(a, b int) bool {
		return list[a]["name"].(string) < list[b]["name"].(string)
	})
	return list
}

func (c call) number(name string) int {
	number, _ := c.args.Arguments[name].(float64)
	return int(number)
}

func (c call) text(name string) string {
	text, _ := c.args.Arguments[name].(string)
	return text
}

func (c call) notify(method string, about any) {
	c.send(message{Method: method, Params: encode(about)})
}

func add(c call) (object, error) {
	return text(strconv.Itoa(c.number("a") + c.number("b"))), nil
}

func askClient(c call) (object, error) {
	answer := c.ask(c.ctx, c.text("method"), c.args.Arguments["params"], c.send)
	if answer.Error != nil {
		return text(string(encode(object{"error": answer.Error}))), nil
	}
	return text(string(encode(answer.Result))), nil
}

func big(c call) (object, error) {
	return text(strings.Repeat("x", c.number("bytes"))), nil
}

func children(c call) (object, error) {
	for range c.number("count") {
		child := exec.Command("/proc/self/exe", "--child")
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := child.Start(); err != nil {
			return nil, err
		}
	}
	return text("left"), nil
}

func closeStdout(c call) (object, error) {
	if err := c.out.Close(); err != nil {
		return nil, err
	}
	return text("unheard"), nil
}

func count(c call) (object, error) {
	return text(strconv.FormatInt(c.counter.Add(1), 10)), nil
}

func dial(c call) (object, error) {
	connection, err := net.DialTimeout("tcp", c.text("address"), time.Duration(c.number("ms"))*time.Millisecond)
	if err != nil {
		return text(err.Error()), nil
	}
	return text("reached"), connection.Close()
}

func echo(c call) (object, error) {
	return text(c.text("text")), nil
}

func env(c call) (object, error) {
	value, known := os.LookupEnv(c.text("name"))
	if !known {
		return text("(unset)"), nil
	}
	return text(value), nil
}

func exit(c call) (object, error) {
	os.Exit(c.number("code"))
	return nil, nil
}

func floodNow(c call) (object, error) {
	flood(c.number("bytes"))
	return text("written"), nil
}

func interfaces(call) (object, error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	found := make([]string, len(addresses))
	for at, address := range addresses {
		found[at] = address.String()
	}
	return text(strings.Join(found, " ")), nil
}

func logMessage(c call) (object, error) {
	c.notify("notifications/message", object{"level": c.text("level"), "logger": "rogue", "data": c.text("text")})
	return text("logged"), nil
}

func mute(c call) (object, error) {
	c.muted.Store(true)
	return nil, nil
}

func processes(call) (object, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var found []string
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue
		}
		// One that has ended meanwhile is none.
		words, err := os.ReadFile("/proc/" + entry.Name() + "/cmdline")
		if err == nil && len(words) > 0 {
			found = append(found, strings.TrimSpace(strings.ReplaceAll(string(words), "\x00", " ")))
		}
	}
	return text(strings.Join(found, "\n")), nil
}

func read(c call) (object, error) {
	content, err := os.ReadFile(c.text("path"))
	return text(string(content)), err
}

func signalSelf(c call) (object, error) {
	killSelf(syscall.Signal(c.number("number")))
	return nil, nil
}

func sleep(c call) (object, error) {
	steps := max(1, c.number("steps"))
	for step := range steps {
		select {
		case <-time.After(time.Duration(c.number("ms")/steps) * time.Millisecond):
		case <-c.ctx.Done():
			return nil, c.ctx.Err()
		}
		if token := c.args.Meta.ProgressToken; token != nil {
			c.notify("notifications/progress", object{"progressToken": token, "progress": step + 1, "total": steps})
		}
	}
	return text("rested"), nil
}

func tell(c call) (object, error) {
	c.send(message{Method: "notifications/tools/list_changed"})
	return text("told"), nil
}

func who(call) (object, error) {
	directory, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	about := object{"pid": os.Getpid(), "uid": os.Getuid(), "gid": os.Getgid(), "cwd": directory, "argv": os.Args}
	return text(string(encode(about))), nil
}

func write(c call) (object, error) {
	err := os.WriteFile(c.text("path"), []byte(c.text("text")), 0o644)
	return text(fmt.Sprintf("%d bytes", len(c.text("text")))), err
}
