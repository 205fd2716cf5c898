package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// The largest message that it reads.
const maxMessageBytes = 64 << 20

// server is one conversation over a pipe, or all that come over HTTP.
type server struct {
	opts options
	// muted: it reads on and answers nothing any more.
	muted   atomic.Bool
	counter atomic.Int64
	asked   atomic.Int64

	writing sync.Mutex
	out     io.WriteCloser

	mutex sync.Mutex
	// calls that run, by the id that the client gave them; a cancellation ends one.
	calls map[string]context.CancelFunc
	// questions of ours that the client has not answered.
	questions map[string]chan message
	working   sync.WaitGroup
}

func newServer(opts options) *server {
	return &server{
		opts:      opts,
		out:       os.Stdout,
		calls:     map[string]context.CancelFunc{},
		questions: map[string]chan message{},
	}
}

// serveStdio returns at the end of the input, when everything that was asked is answered.
func (s *server) serveStdio() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, maxMessageBytes)
	for lines.Scan() {
		var received message
		if err := json.Unmarshal(lines.Bytes(), &received); err != nil {
			fmt.Fprintf(os.Stderr, "not a message: %v\n", err)
			continue
		}
		s.take(received)
	}
	if err := lines.Err(); err != nil {
		fail(err)
	}
}

func (s *server) terminated(why string) {
	s.mutex.Lock()
	for _, cancel := range s.calls {
		cancel()
	}
	s.mutex.Unlock()
	s.working.Wait()
	noteTermination(s.opts, why)
}

func (s *server) take(received message) {
	switch {
	case received.Method == "":
		s.takeAnswer(received)
	case received.ID == nil:
		s.takeNotification(received)
	default:
		// Registered before the next line is read, so that a cancellation right behind it finds it.
		ctx, cancel := context.WithCancel(context.Background())
		key := string(received.ID)
		s.mutex.Lock()
		s.calls[key] = cancel
		s.mutex.Unlock()
		s.working.Add(1)
		go func() {
			defer s.working.Done()
			answer := s.answer(ctx, received, s.send)
			s.mutex.Lock()
			delete(s.calls, key)
			s.mutex.Unlock()
			cancel()
			if answer != nil {
				s.deliver(*answer)
			}
		}()
	}
}

func (s *server) takeNotification(received message) {
	if received.Method != "notifications/cancelled" {
		return
	}
	fmt.Fprintf(os.Stderr, "cancelled: %s\n", received.Params)
	var given params
	if json.Unmarshal(received.Params, &given) != nil {
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if cancel := s.calls[string(given.RequestID)]; cancel != nil {
		cancel()
	}
}

func (s *server) takeAnswer(received message) {
	s.mutex.Lock()
	waiting := s.questions[string(received.ID)]
	delete(s.questions, string(received.ID))
	s.mutex.Unlock()
	if waiting != nil {
		waiting <- received
	}
}

// ask puts a question to the client and waits for its answer.
func (s *server) ask(ctx context.Context, method string, asked any, send func(message)) message {
	id := strconv.Quote("ask-" + strconv.FormatInt(s.asked.Add(1), 10))
	waiting := make(chan message, 1)
	s.mutex.Lock()
	s.questions[id] = waiting
	s.mutex.Unlock()
	send(message{ID: json.RawMessage(id), Method: method, Params: encode(asked)})
	select {
	case answer := <-waiting:
		return answer
	case <-ctx.Done():
		return message{Error: &rpcError{internalError, "the call was cancelled"}}
	}
}

// answer is nil where nothing is said at all.
func (s *server) answer(ctx context.Context, asked message, send func(message)) *message {
	result, err := s.handle(ctx, asked, send)
	if s.muted.Load() || s.opts.mode == "silent" || errors.Is(err, context.Canceled) {
		return nil
	}
	answer := message{ID: asked.ID, Result: result}
	if err != nil {
		var refusal *rpcError
		if !errors.As(err, &refusal) {
			refusal = &rpcError{internalError, err.Error()}
		}
		answer.Error = refusal
	}
	return &answer
}

// deliver is where answers go wrong.
func (s *server) deliver(answer message) {
	switch s.opts.mode {
	case "twice":
		s.send(answer)
	case "unknown-ids":
		s.send(message{ID: json.RawMessage("987654321"), Result: object{}})
		s.send(message{ID: json.RawMessage(`"nobody"`), Error: &rpcError{internalError, "nobody asked"}})
	case "garbage":
		s.write([]byte("Server is listening...\n\n{\"jsonrpc\": \"2.0\", \n[]\n42\nnull\n\xff\xfe\x00\n"))
		defer s.write([]byte("{\"level\":\"info\"}\n"))
	}
	s.send(answer)
}

func (s *server) send(sent message) {
	sent.Version = "2.0"
	s.write(append(encode(sent), '\n'))
}

func (s *server) write(bytes []byte) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if _, err := s.out.Write(bytes); err != nil {
		fmt.Fprintf(os.Stderr, "writing: %v\n", err)
	}
}

const modern = "2026-07-28"

func (s *server) handle(ctx context.Context, asked message, send func(message)) (any, error) {
	var given params
	if asked.Params != nil {
		if err := json.Unmarshal(asked.Params, &given); err != nil {
			return nil, &rpcError{invalidParams, err.Error()}
		}
	}
	switch asked.Method {
	case "initialize":
		return s.initialize(ctx, given)
	case "server/discover":
		if s.opts.revision != modern {
			break
		}
		return object{
			"resultType":        "complete",
			"supportedVersions": []string{modern},
			"capabilities":      s.capabilities(),
			"ttlMs":             0,
			"cacheScope":        "private",
			"_meta":             object{"io.modelcontextprotocol/serverInfo": serverInfo},
		}, nil
	case "ping", "logging/setLevel":
		return object{}, nil
	case "tools/list":
		return s.complete(object{"tools": toolList(), "ttlMs": 0, "cacheScope": "private"}), nil
	case "tools/call":
		tool, known := tools[given.Name]
		if !known {
			return nil, &rpcError{invalidParams, "no tool " + given.Name}
		}
		result, err := tool.run(call{s, ctx, given, send})
		if err != nil {
			return nil, err
		}
		return s.complete(result), nil
	}
	return nil, &rpcError{methodNotFound, "no method " + asked.Method}
}

var serverInfo = object{"name": "rogue", "version": "1.0.0"}

func (s *server) capabilities() object {
	return object{"tools": object{"listChanged": true}, "logging": object{}}
}

func (s *server) initialize(ctx context.Context, given params) (any, error) {
	if s.opts.revision == modern {
		return nil, &rpcError{methodNotFound, "initialize is of older revisions"}
	}
	switch s.opts.mode {
	case "late":
		select {
		case <-time.After(s.opts.delay):
		case <-ctx.Done():
		}
	case "refuse":
		return nil, &rpcError{internalError, "not today"}
	}
	version := given.ProtocolVersion
	if s.opts.revision != "" {
		version = s.opts.revision
	} else if version > "2025-11-25" {
		version = "2025-11-25"
	}
	return object{
		"protocolVersion": version,
		"capabilities":    s.capabilities(),
		"serverInfo":      serverInfo,
		"instructions":    "Do as the tests say.",
	}, nil
}

// complete marks a result as final, which only the newest revision asks for.
func (s *server) complete(result object) object {
	if s.opts.revision == modern {
		result["resultType"] = "complete"
	}
	return result
}
