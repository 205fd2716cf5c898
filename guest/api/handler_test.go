package api

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"

	agentv1 "emergent.dev/guest/gen/emergent/agent/v1"
	"emergent.dev/guest/gen/process"
)

func (f fixture) request(client *http.Client, method, target, token, body string) (int, string) {
	f.Helper()
	request, err := http.NewRequestWithContext(f.Context(), method, "http://agent"+target, strings.NewReader(body))
	if err != nil {
		f.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/octet-stream")
	if token != "" {
		request.Header.Set("X-Access-Token", token)
	}
	response, err := client.Do(request)
	if err != nil {
		f.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		f.Fatal(err)
	}
	return response.StatusCode, string(answer)
}

func TestOnlyHealthIsOpen(t *testing.T) {
	f := serve(t)
	for _, client := range []*http.Client{f.http1, f.http2} {
		if status, _ := f.request(client, "GET", "/health", "", ""); status != http.StatusNoContent {
			t.Errorf("health: %d", status)
		}
		for _, wrong := range []string{"", "wrong", token + "x"} {
			for _, target := range []string{"/files?path=/etc/passwd", "/nowhere"} {
				status, body := f.request(client, "GET", target, wrong, "")
				var answer struct{ Code int }
				if status != 401 || json.Unmarshal([]byte(body), &answer) != nil || answer.Code != 401 {
					t.Errorf("%s with %q: %d %s", target, wrong, status, body)
				}
			}
			if status, _ := f.request(client, "POST", "/health", wrong, ""); status != 401 {
				t.Errorf("POST /health with %q: %d", wrong, status)
			}
		}
		_, err := f.client(client, "wrong").List(t.Context(), &process.ListRequest{})
		f.wantCode("unary call", connect.CodeUnauthenticated, err)
		_, err = run(t.Context(), f.client(client, "wrong"), sh("true"))
		f.wantCode("stream", connect.CodeUnauthenticated, err)
	}
}

func TestFilesAndUnknownPlaces(t *testing.T) {
	f := serve(t)
	for _, client := range []*http.Client{f.http1, f.http2} {
		if status, body := f.request(client, "POST", "/files?path=a", token, "content"); status != 200 {
			t.Fatalf("write: %d %s", status, body)
		}
		if status, body := f.request(client, "GET", "/files?path=a", token, ""); status != 200 || body != "content" {
			t.Errorf("read: %d %q", status, body)
		}
		if status, body := f.request(client, "GET", "/nowhere", token, ""); status != 404 || !strings.Contains(body, `"code":404`) {
			t.Errorf("nowhere: %d %s", status, body)
		}
	}
}

func TestReadyIsPushedAndEndsWhenTheAgentStops(t *testing.T) {
	f := serve(t)
	stream, err := f.agent.Ready(t.Context(), &agentv1.ReadyRequest{})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if !stream.Receive() || stream.Msg().GetVersion() != "v" || stream.Msg().GetBootId() != "b" {
		t.Fatalf("%v, %v", stream.Msg(), stream.Err())
	}
	close(f.stopping)
	if stream.Receive() || stream.Err() != nil {
		t.Errorf("%v, %v", stream.Msg(), stream.Err())
	}
}
