// Package files serves reading and writing of single files over HTTP: GET and POST /files?path=….
package files

import (
	"log"
	"net/http"
)

const copyBuffer = 256 << 10

type Handler struct {
	// Workdir is where relative paths start, and where files are made that are not yet in place.
	Workdir string
	// Owner is who new files and directories belong to; nil: whoever runs the agent.
	Owner *Owner
}

var _ http.Handler = Handler{}

func (h Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var err error
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		err = h.get(w, r)
	case http.MethodPost:
		err = h.post(w, r)
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		err = refuse(http.StatusMethodNotAllowed, "use GET to read a file and POST to write one")
	}
	if err == nil {
		return
	}
	refused := explain(err)
	if refused.status == http.StatusInternalServerError {
		log.Printf("files: %s %q: %v", r.Method, r.URL.Query().Get("path"), err)
	}
	writeRefusal(w, refused)
}
