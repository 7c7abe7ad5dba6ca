package jailtest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// HostTree lists everything below dir, with what a change would show in.
func HostTree(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(p, &st); err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %o %d %d", strings.TrimPrefix(p, dir), st.Mode, st.Nlink, st.Uid)
		if d.Type().IsRegular() {
			content, _ := os.ReadFile(p)
			fmt.Fprintf(&b, " %q", content)
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// RootNames lists the places of the host where a careless mount leaves names. In
// its /dev/shm others are at work, too.
func RootNames(t testing.TB) string {
	t.Helper()
	var all []string
	for _, dir := range []string{"/", "/dev", "/etc", "/dev/shm", "/home"} {
		names, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, n := range names {
			if dir != "/dev/shm" || strings.HasPrefix(n.Name(), "mcp-jail-test") {
				all = append(all, filepath.Join(dir, n.Name()))
			}
		}
	}
	return strings.Join(all, "\n")
}

func Mountinfo(t testing.TB) string {
	t.Helper()
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// hostState is what a jail must leave of the host as it was: a tree, the mounts,
// the names in its common places.
type hostState struct{ dir, tree, mounts, names string }

func LookAtHost(t testing.TB, dir string) hostState {
	t.Helper()
	return hostState{dir, HostTree(t, dir), Mountinfo(t), RootNames(t)}
}

// Same says what has changed since.
func (h hostState) Same(t testing.TB) {
	t.Helper()
	now := LookAtHost(t, h.dir)
	if now.tree != h.tree {
		t.Errorf("the host's tree has changed:\n%s\nto\n%s", h.tree, now.tree)
	}
	if now.mounts != h.mounts {
		t.Error("the host's mounts have changed")
	}
	if now.names != h.names {
		t.Errorf("names were left on the host:\n%s\nwere\n%s", now.names, h.names)
	}
}
