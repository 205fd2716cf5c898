// Package tool holds the tools that need a program inside the sandbox: they search its files without relying on
// what is installed there. A tool reads one JSON request from standard input and writes JSON lines to standard
// output: what it found, then a summary. Paths in a request are relative to the directory it is started in.
package tool

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Exit codes of a tool.
const (
	exitFound   = 0
	exitFailure = 1
	exitRefused = 2
)

const maxRequestBytes = 1 << 20

// refusal is a request that cannot be served as it is; the codes are those of the host's error table.
type refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (r *refusal) Error() string { return r.Message }

func invalid(field string, problem any) *refusal {
	return &refusal{"invalid_value", fmt.Sprintf("%s: %v", field, problem)}
}

// results takes what a tool finds, one JSON line each.
type results struct{ encoder *json.Encoder }

func (r results) put(line any) error {
	if err := r.encoder.Encode(line); err != nil {
		return fmt.Errorf("write a result: %w", err)
	}
	return nil
}

var tools = map[string]func(request []byte, out results) error{
	"glob": runGlob,
	"grep": runGrep,
}

// Run is `agent tool <name>`; it answers with the exit code.
func Run(name string, in io.Reader, out io.Writer) int {
	buffered := bufio.NewWriterSize(out, 64<<10)
	encoder := json.NewEncoder(buffered)
	encoder.SetEscapeHTML(false)
	err := serve(name, in, results{encoder})
	code := exitFound
	if err != nil {
		code = report(encoder, err)
	}
	if buffered.Flush() != nil {
		return exitFailure
	}
	return code
}

func serve(name string, in io.Reader, out results) error {
	run, known := tools[name]
	if !known {
		return invalid("tool", fmt.Sprintf("there is none named %q", name))
	}
	request, err := io.ReadAll(io.LimitReader(in, maxRequestBytes+1))
	if err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	if len(request) > maxRequestBytes {
		return invalid("request", "is too long")
	}
	return run(request, out)
}

func report(encoder *json.Encoder, err error) int {
	refused := &refusal{"internal", err.Error()}
	code := exitFailure
	if errors.As(err, &refused) {
		code = exitRefused
	}
	if encoder.Encode(map[string]*refusal{"error": refused}) != nil {
		return exitFailure
	}
	return code
}

func decode(request []byte, into any) error {
	if err := json.Unmarshal(request, into); err != nil {
		return invalid("request", err)
	}
	return nil
}
