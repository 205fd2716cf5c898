package proc

import (
	"errors"
	"fmt"
	"os"
)

const fileCapacity = 64 << 20

// spillDirs is where long output goes, the first that works. In a sandbox /tmp can be memory, so it comes last.
var spillDirs = []string{"/var/tmp", "/tmp"}

// fileRing holds bytes in a file without a name, each at its place modulo fileCapacity. What was never written
// occupies nothing, and the file is gone with its descriptor.
type fileRing struct {
	file *os.File
	// used is how far the file reaches.
	used uint64
}

func newFileRing(dirs []string) (*fileRing, error) {
	var problems []error
	for _, dir := range dirs {
		file, err := os.CreateTemp(dir, "emergent-output-*")
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if err := os.Remove(file.Name()); err != nil {
			file.Close()
			problems = append(problems, err)
			continue
		}
		return &fileRing{file: file}, nil
	}
	return nil, fmt.Errorf("make a file for output: %w", errors.Join(problems...))
}

func (r *fileRing) write(place uint64, data []byte) error {
	for len(data) > 0 {
		at := place % fileCapacity
		piece := data[:min(uint64(len(data)), fileCapacity-at)]
		if _, err := r.file.WriteAt(piece, int64(at)); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
		r.used = max(r.used, at+uint64(len(piece)))
		place += uint64(len(piece))
		data = data[len(piece):]
	}
	return nil
}

func (r *fileRing) read(place uint64, buffer []byte) error {
	for len(buffer) > 0 {
		at := place % fileCapacity
		piece := buffer[:min(uint64(len(buffer)), fileCapacity-at)]
		if _, err := r.file.ReadAt(piece, int64(at)); err != nil {
			return fmt.Errorf("read output: %w", err)
		}
		place += uint64(len(piece))
		buffer = buffer[len(piece):]
	}
	return nil
}

func (r *fileRing) close() {
	r.file.Close()
}
