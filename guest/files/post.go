package files

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
)

const writeBuffer = 1 << 20

// written is one row of the answer to an upload.
type written struct {
	Path string `json:"path"`
	Name string `json:"name"`
	Type string `json:"type"`
}

func (h Handler) post(w http.ResponseWriter, r *http.Request) error {
	path, err := h.requestedPath(r)
	if err != nil {
		return err
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/octet-stream" {
		return refuse(http.StatusUnsupportedMediaType, "send the content as application/octet-stream")
	}
	if err := replace(path, upload{r.Body}); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	answer := []written{{Path: filepath.Clean(path), Name: filepath.Base(path), Type: "file"}}
	// The file is written: a failure to say so means that the caller is gone.
	_ = json.NewEncoder(w).Encode(answer)
	return nil
}

// upload tells a caller that broke off from a disk that failed.
type upload struct{ body io.Reader }

func (u upload) Read(buffer []byte) (int, error) {
	n, err := u.body.Read(buffer)
	if err != nil && err != io.EOF {
		err = refuse(http.StatusBadRequest, "the upload was cut short: %v", err)
	}
	return n, err
}

// replace makes content the file at path: whole or, on any failure, not at all. The content is written beside
// the target, so that the renaming stays within one file system.
func replace(path string, content io.Reader) error {
	target, existing, err := finalTarget(path)
	if err != nil {
		return err
	}
	if existing != nil {
		err = mustBeRegular(target, existing)
	} else {
		err = makeParents(target)
	}
	if err != nil {
		return err
	}
	temporary, err := writeBeside(target, existing, content)
	if err != nil {
		return err
	}
	if err := os.Rename(temporary, target); err != nil {
		os.Remove(temporary)
		return fmt.Errorf("put in place: %w", err)
	}
	return nil
}

func makeParents(target string) error {
	dir, name := split(target)
	if name == "" {
		return refuseDirectory(target)
	}
	err := os.MkdirAll(dir, 0o755)
	if errors.Is(err, syscall.ENOTDIR) {
		return refuse(http.StatusBadRequest, "%s: a part of the path is not a directory", target)
	}
	if err != nil {
		return fmt.Errorf("make parent directories: %w", err)
	}
	return nil
}

// writeBeside leaves nothing behind when it fails. A new file's mode follows the umask; one that replaces
// another takes over its mode and owner.
func writeBeside(target string, existing fs.FileInfo, content io.Reader) (string, error) {
	mode := fs.FileMode(0o666)
	if existing != nil {
		mode = 0o600
	}
	// A name of its own length, as the target's may be as long as a name can be.
	dir, _ := split(target)
	path := dir + ".emergent-" + rand.Text() + ".tmp"
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", fmt.Errorf("create temporary file: %w", err)
	}
	if err = fill(file, content); err != nil {
		err = fmt.Errorf("write: %w", err)
	} else if existing != nil {
		err = takeOver(file, existing)
	}
	if closing := file.Close(); err == nil && closing != nil {
		err = fmt.Errorf("close: %w", closing)
	}
	if err != nil {
		os.Remove(path)
		return "", err
	}
	return path, nil
}

// fill collects what comes in frames of 16 KiB into large writes.
func fill(file *os.File, content io.Reader) error {
	writer := bufio.NewWriterSize(struct{ io.Writer }{file}, writeBuffer)
	if _, err := writer.ReadFrom(content); err != nil {
		return err
	}
	return writer.Flush()
}

// takeOver sets the owner before the mode: a change of owner clears the set-user-id bit.
func takeOver(file *os.File, existing fs.FileInfo) error {
	var created syscall.Stat_t
	if err := syscall.Fstat(int(file.Fd()), &created); err != nil {
		return fmt.Errorf("inspect temporary file: %w", err)
	}
	owner, known := existing.Sys().(*syscall.Stat_t)
	if known && (owner.Uid != created.Uid || owner.Gid != created.Gid) {
		if err := file.Chown(int(owner.Uid), int(owner.Gid)); err != nil {
			return fmt.Errorf("keep the owner: %w", err)
		}
	}
	if err := file.Chmod(existing.Mode()); err != nil {
		return fmt.Errorf("keep the mode: %w", err)
	}
	return nil
}
