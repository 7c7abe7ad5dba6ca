package jailtest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// HostTree lists the files below dir with mode, links, owner and content.
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

// accountFile matches the files of accounts, and the files that useradd and similar programs make
// beside them for a moment.
var accountFile = regexp.MustCompile(`^/etc/\.?(passwd|shadow|group|gshadow|subuid|subgid)([+.-].*)?$`)

// RootNames lists the directories of the host in which a careless mount leaves names. Of
// /dev/shm, which other processes use too, it lists the names of tests only.
func RootNames(t testing.TB) string {
	t.Helper()
	var all []string
	for _, dir := range []string{"/", "/dev", "/etc", "/dev/shm", "/home"} {
		names, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, n := range names {
			name := filepath.Join(dir, n.Name())
			if (dir != "/dev/shm" || strings.HasPrefix(n.Name(), "mcp-jail-test")) && !accountFile.MatchString(name) {
				all = append(all, name)
			}
		}
	}
	return strings.Join(all, "\n")
}

// Mountinfo returns the mounts of this process, without those below the temporary directories of other tests: root
// runs some that mount there, at the same time.
func Mountinfo(t testing.TB) string {
	t.Helper()
	b := testkit.Get(os.ReadFile("/proc/self/mountinfo"))(t)
	own, _, _ := strings.Cut(t.Name(), "/")
	var all strings.Builder
	for line := range strings.Lines(string(b)) {
		if at := strings.Fields(line)[4]; !strings.Contains(at, "/Test") || strings.Contains(at, "/"+own) {
			all.WriteString(line)
		}
	}
	return all.String()
}

// hostState is the state of the host that no jail may change: a tree, the mounts, and the names
// in common directories.
type hostState struct{ dir, tree, mounts, names string }

// LookAtHost records the state of the host with the tree dir.
func LookAtHost(t testing.TB, dir string) hostState {
	t.Helper()
	return hostState{dir, HostTree(t, dir), Mountinfo(t), RootNames(t)}
}

// Same fails the test if the state has changed since.
func (h hostState) Same(t testing.TB) {
	t.Helper()
	now := LookAtHost(t, h.dir)
	testkit.Equal(t, "the host's tree", now.tree, h.tree)
	testkit.Equal(t, "the host's mounts ", now.mounts, h.mounts)
	testkit.Equal(t, "names on the host", now.names, h.names)
}
