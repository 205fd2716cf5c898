package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"syscall"
)

// refusal is an error whose HTTP status is decided where it is found.
type refusal struct {
	status  int
	message string
	// reason names what the status alone does not tell apart; empty where it does.
	reason string
}

func (e *refusal) Error() string { return e.message }

func refuse(status int, format string, args ...any) error {
	return &refusal{status: status, message: fmt.Sprintf(format, args...)}
}

var statusOf = map[syscall.Errno]int{
	syscall.ENOENT:       http.StatusNotFound,
	syscall.ENOTDIR:      http.StatusNotFound,
	syscall.EACCES:       http.StatusForbidden,
	syscall.EPERM:        http.StatusForbidden,
	syscall.EROFS:        http.StatusForbidden,
	syscall.EISDIR:       http.StatusBadRequest,
	syscall.EINVAL:       http.StatusBadRequest,
	syscall.ELOOP:        http.StatusBadRequest,
	syscall.ENAMETOOLONG: http.StatusBadRequest,
	syscall.ENXIO:        http.StatusBadRequest,
	syscall.EBUSY:        http.StatusConflict,
	syscall.ETXTBSY:      http.StatusConflict,
	syscall.ENOSPC:       http.StatusInsufficientStorage,
	syscall.EDQUOT:       http.StatusInsufficientStorage,
	syscall.EFBIG:        http.StatusInsufficientStorage,
}

func explain(err error) refusal {
	var refused *refusal
	if errors.As(err, &refused) {
		return *refused
	}
	known := refusal{status: http.StatusInternalServerError, message: err.Error()}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		if status, found := statusOf[errno]; found {
			known.status = status
		}
		if errno == syscall.EISDIR {
			known.reason = directoryReason
		}
	}
	return known
}

const directoryReason = "is_directory"

func refuseDirectory(path string) error {
	return &refusal{http.StatusBadRequest, path + " is a directory", directoryReason}
}

// WriteError answers in the form that every plain HTTP endpoint of the agent uses.
func WriteError(w http.ResponseWriter, status int, message string) {
	writeRefusal(w, refusal{status: status, message: message})
}

func writeRefusal(w http.ResponseWriter, refused refusal) {
	w.Header().Del("Content-Length")
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(refused.status)
	body := struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Reason  string `json:"reason,omitempty"`
	}{refused.status, refused.message, refused.reason}
	// A failure to write means that the caller is gone.
	_ = json.NewEncoder(w).Encode(body)
}
