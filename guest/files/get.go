package files

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"syscall"
)

func (h Handler) get(w http.ResponseWriter, r *http.Request) error {
	path, err := h.requestedPath(r)
	if err != nil {
		return err
	}
	if wantsListing(r) {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return list(w, r, path)
		}
	}
	file, info, err := openRegular(path)
	if err != nil {
		return err
	}
	defer file.Close()
	size := info.Size()
	if err := mustFitInline(r, path, size); err != nil {
		return err
	}

	// A small file is measured by reading it: files of procfs say 0, those of sysfs a page, whatever they hold.
	buffer := make([]byte, min(copyBuffer, max(size+1, 4096)))
	n, err := io.ReadFull(file, buffer)
	whole := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	if err != nil && !whole {
		return fmt.Errorf("read: %w", err)
	}
	if whole {
		size = int64(n)
	}
	known := size >= int64(n)
	header := w.Header()
	header.Set("Content-Type", "application/octet-stream")
	if known && size == info.Size() {
		// From before the content was read: what changes while it is read changes the version too.
		header.Set("ETag", version(info))
	}
	if known {
		header.Set("Content-Length", strconv.FormatInt(size, 10))
	}
	if r.Method == http.MethodHead {
		return nil
	}
	if _, err := w.Write(buffer[:n]); err != nil || whole {
		return nil
	}
	rest := io.Reader(file)
	if known {
		// A file that grows meanwhile must not exceed the announced length.
		rest = io.LimitReader(file, size-int64(n))
	}
	copied, err := copyAll(w, rest)
	if err != nil || known && copied != size-int64(n) {
		// The status is sent: only a broken stream can still tell the reader that the content is not whole.
		panic(http.ErrAbortHandler)
	}
	return nil
}

// inlineHeader lets a caller ask for a file only if it is small: a large one is better fetched on a stream of its
// own.
const inlineHeader = "X-Emergent-Inline-Max"

func mustFitInline(r *http.Request, path string, size int64) error {
	value := r.Header.Get(inlineHeader)
	if value == "" {
		return nil
	}
	limit, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return refuse(http.StatusBadRequest, "%s: %q is not a number", inlineHeader, value)
	}
	if size <= limit {
		return nil
	}
	return &refusal{http.StatusRequestEntityTooLarge, path + " is larger than asked for", "too_large_inline"}
}

// openRegular never blocks: opening a FIFO for reading waits for a writer unless O_NONBLOCK is given. The type
// is checked before opening, which can have effects on a device, and again after, as the name may have changed
// hands.
func openRegular(path string) (*os.File, os.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, fmt.Errorf("look up: %w", err)
	}
	if err := mustBeRegular(path, info); err != nil {
		return nil, nil, err
	}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open: %w", err)
	}
	if info, err = file.Stat(); err == nil {
		err = mustBeRegular(path, info)
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// copyAll moves large pieces, as each costs two system calls, and hides the ends' own copy methods, which
// would choose smaller ones.
func copyAll(to io.Writer, from io.Reader) (int64, error) {
	return io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, make([]byte, copyBuffer))
}
