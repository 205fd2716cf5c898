package files

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
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
	created, err := h.replace(path, upload{r.Body}, condition(r.Header.Get("If-Match")))
	if err != nil {
		return err
	}
	w.Header().Set(createdHeader, strconv.FormatBool(created))
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

// replace makes content the file at path: whole or, on any failure, not at all. The content is written to a
// temporary file, which is then renamed.
func (h Handler) replace(path string, content io.Reader, wanted condition) (created bool, err error) {
	target, existing, err := finalTarget(path)
	if err != nil {
		return false, err
	}
	if err := wanted.check(path, existing); err != nil {
		return false, err
	}
	if existing != nil {
		err = mustBeRegular(target, existing)
	} else {
		err = h.makeParents(target)
	}
	if err != nil {
		return false, err
	}
	dir, _ := split(target)
	temporary, err := h.writeTemporary(dir, existing, content)
	if err != nil {
		return false, err
	}
	created, err = putInPlace(temporary, target, wanted)
	if errors.Is(err, syscall.EXDEV) {
		created, err = putFromAfar(temporary, target, wanted)
	}
	if err != nil {
		os.Remove(temporary)
	}
	return created, err
}

// putFromAfar is putInPlace for a target on another mount of the same file system, over whose border nothing can be
// renamed.
func putFromAfar(temporary, target string, wanted condition) (created bool, err error) {
	from, err := os.Open(temporary)
	if err != nil {
		return false, fmt.Errorf("read back: %w", err)
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return false, fmt.Errorf("read back: %w", err)
	}
	dir, _ := split(target)
	file, err := createIn(dir, 0o600)
	if err != nil {
		return false, err
	}
	near, err := finish(file, from, func() error { return takeOver(file, info) })
	if err != nil {
		return false, err
	}
	if created, err = putInPlace(near, target, wanted); err != nil {
		os.Remove(near)
		return false, err
	}
	os.Remove(temporary)
	return created, nil
}

func (h Handler) makeParents(target string) error {
	dir, name := split(target)
	if name == "" {
		return refuseDirectory(target)
	}
	err := h.Owner.makeDirectories(dir)
	if errors.Is(err, syscall.ENOTDIR) {
		return refuse(http.StatusBadRequest, "%s: a part of the path is not a directory", target)
	}
	if err != nil {
		return fmt.Errorf("make parent directories: %w", err)
	}
	return nil
}

// writeTemporary leaves nothing behind when it fails. A new file's mode follows the umask, and it belongs to the
// handler's owner; one that replaces another takes over its mode and owner.
func (h Handler) writeTemporary(dir string, existing fs.FileInfo, content io.Reader) (string, error) {
	mode := fs.FileMode(0o666)
	if existing != nil {
		mode = 0o600
	}
	file, err := h.createTemporary(dir, mode)
	if err != nil {
		return "", err
	}
	return finish(file, content, func() error {
		if existing != nil {
			return takeOver(file, existing)
		}
		return h.Owner.take(file)
	})
}

// finish fills a new file, dresses it and closes it; it answers with its path, or removes it.
func finish(file *os.File, content io.Reader, dress func() error) (path string, err error) {
	if err = fill(file, content); err != nil {
		err = fmt.Errorf("write: %w", err)
	} else if err = stamp(file); err == nil {
		err = dress()
	}
	if closing := file.Close(); err == nil && closing != nil {
		err = fmt.Errorf("close: %w", closing)
	}
	if err != nil {
		os.Remove(file.Name())
		return "", err
	}
	return file.Name(), nil
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
