package account

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"
)

const passwd = `root:x:0:0:root:/root:/bin/sh
# a remark:x:7:7:::
broken
odd:x:many:1::/:
worker:x:1000:1001:A Worker,,,:/home/worker:/bin/sh
homeless:x:1002:1002
huge:x:4294967295:1::/:
worker:x:1003:1003::/second:
`

const group = `root:x:0:
wheel:x:10:root,worker
staff:x:1001:
video:x:44:someone,worker
lonely:x:45
broken:x:many:worker
`

func files(t *testing.T) Files {
	t.Helper()
	dir := t.TempDir()
	found := Files{Passwd: filepath.Join(dir, "passwd"), Group: filepath.Join(dir, "group")}
	for path, content := range map[string]string{found.Passwd: passwd, found.Group: group} {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return found
}

func TestResolve(t *testing.T) {
	inImage := files(t)
	none := Files{Passwd: "/nowhere/passwd", Group: "/dev/null/group"}
	for _, each := range []struct {
		files Files
		text  string
		want  Account
	}{
		{inImage, "", Account{0, 0, []uint32{10}, "/root"}},
		{inImage, "root", Account{0, 0, []uint32{10}, "/root"}},
		{inImage, "worker", Account{1000, 1001, []uint32{10, 44}, "/home/worker"}},
		{inImage, "1000", Account{1000, 1001, []uint32{10, 44}, "/home/worker"}},
		{inImage, "worker:video", Account{1000, 44, nil, "/home/worker"}},
		{inImage, "1000:77", Account{1000, 77, nil, "/home/worker"}},
		{inImage, "2000", Account{2000, 0, nil, "/"}},
		{inImage, "2000:lonely", Account{2000, 45, nil, "/"}},
		{inImage, "homeless", Account{1002, 1002, nil, "/"}},
		{inImage, ":staff", Account{0, 1001, nil, "/root"}},
		{none, "", Account{0, 0, nil, "/"}},
		{none, "1000:1000", Account{1000, 1000, nil, "/"}},
	} {
		got, err := each.files.Resolve(each.text)
		if err != nil || !reflect.DeepEqual(got, each.want) {
			t.Errorf("%q: got %+v, %v; want %+v", each.text, got, err, each.want)
		}
	}
}

func TestResolveUnknown(t *testing.T) {
	for _, text := range []string{"nobody", "worker:nobody", "odd", "huge", "-1", "4294967295"} {
		if got, err := files(t).Resolve(text); !errors.Is(err, ErrUnknown) {
			t.Errorf("%q: got %+v, %v", text, got, err)
		}
	}
}

func TestCredential(t *testing.T) {
	if got := (Account{}).Credential(); got != nil {
		t.Errorf("root: %+v", got)
	}
	for _, each := range []Account{{UID: 1}, {GID: 1}, {Groups: []uint32{1}}} {
		got := each.Credential()
		want := &syscall.Credential{Uid: each.UID, Gid: each.GID, Groups: append([]uint32{each.GID}, each.Groups...)}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%+v: %+v", each, got)
		}
	}
}
