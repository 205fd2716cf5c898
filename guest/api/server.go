package api

import "net/http"

// The defaults of HTTP/2 are made for the internet; here they would cap a transfer at about 10 MB/s, because
// each window is a round trip through the sandbox's boundary.
const (
	connectionWindow = 32 << 20
	streamWindow     = 8 << 20
	maxFrame         = 1 << 20
	maxStreams       = 1000
)

// NewServer speaks HTTP/1.1 and HTTP/2 without TLS on one listener.
func NewServer(handler http.Handler) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:   handler,
		Protocols: &protocols,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          maxStreams,
			MaxReadFrameSize:              maxFrame,
			MaxReceiveBufferPerConnection: connectionWindow,
			MaxReceiveBufferPerStream:     streamWindow,
		},
	}
}
