package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
)

// serveHTTP is the least of Streamable HTTP: answers come as one document, or, where the client takes one, as an event
// stream with what is told on the way. It keeps no sessions and has no stream of its own.
func (s *server) serveHTTP(port int) error {
	http.HandleFunc("/mcp", s.post)
	fmt.Fprintf(os.Stderr, "listening on %d\n", port)
	return http.ListenAndServe(":"+strconv.Itoa(port), nil)
}

func (s *server) post(response http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodPost {
		response.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	var received message
	body := http.MaxBytesReader(response, request.Body, maxMessageBytes)
	if err := json.NewDecoder(body).Decode(&received); err != nil {
		http.Error(response, err.Error(), http.StatusBadRequest)
		return
	}
	if received.Method == "" {
		s.takeAnswer(received)
	}
	if received.Method == "" || received.ID == nil {
		response.WriteHeader(http.StatusAccepted)
		return
	}
	var asked params
	if received.Method == "tools/call" && json.Unmarshal(received.Params, &asked) == nil && asked.Name == "sleep" {
		s.stream(response, request, received)
		return
	}
	// Nothing can be told to the client before its answer.
	answer := s.answer(request.Context(), received, func(message) {})
	if answer == nil {
		<-request.Context().Done()
		return
	}
	answer.Version = "2.0"
	response.Header().Set("content-type", "application/json")
	if _, err := response.Write(encode(answer)); err != nil {
		fmt.Fprintf(os.Stderr, "writing: %v\n", err)
	}
}

func (s *server) stream(response http.ResponseWriter, request *http.Request, received message) {
	response.Header().Set("content-type", "text/event-stream")
	send := func(sent message) {
		sent.Version = "2.0"
		fmt.Fprintf(response, "event: message\ndata: %s\n\n", encode(sent))
		http.NewResponseController(response).Flush()
	}
	if answer := s.answer(request.Context(), received, send); answer != nil {
		send(*answer)
	}
}
