package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"

	"connectrpc.com/connect"

	"emergent.dev/guest/files"
)

// TokenHash is all that the agent knows of the access token: what runs in the sandbox can read the agent's
// environment, but cannot get the token from it.
type TokenHash [sha256.Size]byte

func ParseTokenHash(text string) (TokenHash, error) {
	if text == "" {
		return TokenHash{}, errors.New("it is not set")
	}
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != sha256.Size {
		return TokenHash{}, fmt.Errorf("a SHA-256 has %d hexadecimal digits", 2*sha256.Size)
	}
	return TokenHash(raw), nil
}

func (h TokenHash) matches(token string) bool {
	given := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(given[:], h[:]) == 1
}

func requireToken(hash TokenHash, next http.Handler) http.Handler {
	rpcErrors := connect.NewErrorWriter()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		open := r.Method == http.MethodGet && r.URL.Path == "/health"
		if open || hash.matches(r.Header.Get("X-Access-Token")) {
			next.ServeHTTP(w, r)
			return
		}
		const message = "the X-Access-Token header is missing or wrong"
		// The services take POST only; IsSupported would also claim every GET.
		if r.Method == http.MethodPost && rpcErrors.IsSupported(r) {
			// A failure to write means that the caller is gone.
			_ = rpcErrors.Write(w, r, connect.NewError(connect.CodeUnauthenticated, errors.New(message)))
			return
		}
		files.WriteError(w, http.StatusUnauthorized, message)
	})
}
