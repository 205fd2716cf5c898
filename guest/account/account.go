// Package account finds out who commands run as: the user that an image names, as an engine understands it.
package account

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// ErrUnknown says that the image names a user or a group that it does not have.
var ErrUnknown = errors.New("not in the image")

// What the kernel takes for an id; the highest means "none".
const maxID = math.MaxUint32 - 1

// Account is a user of the sandbox.
type Account struct {
	UID, GID uint32
	// Groups are the supplementary ones.
	Groups []uint32
	Home   string
}

// Files are where a sandbox keeps its users and groups; either may be missing.
type Files struct{ Passwd, Group string }

var System = Files{Passwd: "/etc/passwd", Group: "/etc/group"}

// Resolve understands "", "user" and "user:group", each by name or by number; without a user it is root. A number
// need not be in the files, and then has group 0 and no home but the root directory. A group that is named takes
// the place of those that the user is a member of.
func (f Files) Resolve(text string) (Account, error) {
	user, group, _ := strings.Cut(text, ":")
	if user == "" {
		user = "0"
	}
	account, name, err := f.user(user)
	if err != nil {
		return Account{}, err
	}
	groups, err := entries(f.Group, 4)
	if err != nil {
		return Account{}, err
	}
	if group != "" {
		account.GID, err = groupID(group, groups)
		return account, err
	}
	for _, entry := range groups {
		id, err := parseID(entry[2])
		if err == nil && name != "" && slices.Contains(strings.Split(entry[3], ","), name) {
			account.Groups = append(account.Groups, id)
		}
	}
	return account, nil
}

// user also answers with the name, which is empty for a number that the file does not have.
func (f Files) user(user string) (account Account, name string, err error) {
	users, err := entries(f.Passwd, 7)
	if err != nil {
		return Account{}, "", err
	}
	id, notNumber := parseID(user)
	for _, entry := range users {
		uid, badUID := parseID(entry[2])
		gid, badGID := parseID(entry[3])
		if badUID != nil || badGID != nil {
			continue
		}
		if notNumber == nil && uid == id || notNumber != nil && entry[0] == user {
			return Account{UID: uid, GID: gid, Home: home(entry[5])}, entry[0], nil
		}
	}
	if notNumber != nil {
		return Account{}, "", fmt.Errorf("user %q: %w", user, ErrUnknown)
	}
	return Account{UID: id, Home: home("")}, "", nil
}

func groupID(group string, groups [][]string) (uint32, error) {
	id, notNumber := parseID(group)
	if notNumber == nil {
		return id, nil
	}
	for _, entry := range groups {
		if entry[0] == group {
			return parseID(entry[2])
		}
	}
	return 0, fmt.Errorf("group %q: %w", group, ErrUnknown)
}

func home(text string) string {
	if text == "" {
		return "/"
	}
	return text
}

func parseID(text string) (uint32, error) {
	id, err := strconv.ParseUint(text, 10, 32)
	if err != nil || id > maxID {
		return 0, fmt.Errorf("%q is not an id", text)
	}
	return uint32(id), nil
}

// entries are the lines that have a name and an id; fields that are missing at the end are empty.
func entries(path string, fields int) ([][]string, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	var found [][]string
	for line := range strings.Lines(string(content)) {
		entry := strings.Split(strings.TrimRight(line, "\r\n"), ":")
		for len(entry) < fields && len(entry) >= 3 {
			entry = append(entry, "")
		}
		if len(entry) >= fields && !strings.HasPrefix(entry[0], "#") {
			found = append(found, entry)
		}
	}
	return found, nil
}

// Credential is nil where commands run as the agent does. The user's own group is among the supplementary ones too:
// a command that changes its group must not lose what is denied to that group.
func (a Account) Credential() *syscall.Credential {
	if a.UID == 0 && a.GID == 0 && len(a.Groups) == 0 {
		return nil
	}
	groups := append([]uint32{a.GID}, a.Groups...)
	return &syscall.Credential{Uid: a.UID, Gid: a.GID, Groups: groups}
}
