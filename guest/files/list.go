package files

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"strings"
)

// listingType is how a caller asks for the names in a directory, and how it tells them from a file's content: each
// name has a NUL behind it, as it may hold any other byte, and those of directories end in a slash.
const listingType = "application/vnd.emergent.names"

func wantsListing(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), listingType)
}

// list answers in the order of the names' bytes.
func list(w http.ResponseWriter, r *http.Request, path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	var names strings.Builder
	for _, entry := range entries {
		names.WriteString(entry.Name())
		if entry.IsDir() || leadsToDirectory(path, entry) {
			names.WriteByte('/')
		}
		names.WriteByte(0)
	}
	w.Header().Set("Content-Type", listingType)
	w.Header().Set("Content-Length", strconv.Itoa(names.Len()))
	if r.Method != http.MethodHead {
		// A failure to write means that the caller is gone.
		_, _ = w.Write([]byte(names.String()))
	}
	return nil
}

// leadsToDirectory takes a link that leads nowhere, or to where nobody may look, for what it is.
func leadsToDirectory(parent string, entry fs.DirEntry) bool {
	if entry.Type()&fs.ModeSymlink == 0 {
		return false
	}
	info, err := os.Stat(parent + "/" + entry.Name())
	return err == nil && info.IsDir()
}
