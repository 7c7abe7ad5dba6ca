package installed

import (
	"context"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestOwners tests whose programs are used: no other account could have replaced them, but for the
// administrators of a Mac, and the owner of the system's directories in a sandbox that does not map root.
func TestOwners(t *testing.T) {
	const unmapped = 65534
	in := func(gid int) func(int) bool { return func(g int) bool { return g == gid } }
	for _, c := range []struct {
		name, os, file string
		uid, gid       int
		ownGroup       func(int) bool
		isUnmapped     bool // the host knows which owners are not mapped
		want           bool
	}{
		{"root", "linux", "/opt/n/bin/node", 0, 0, in(0), false, true},
		{"the user", "linux", "/opt/n/bin/node", 501, 501, in(501), false, true},
		{"administrators of a Mac", "darwin", "/opt/homebrew/bin/node", 501, 80, nil, false, true},
		{"another group of a Mac", "darwin", "/opt/homebrew/bin/node", 501, 20, nil, false, false},
		{"another group of a Mac that has own ones", "darwin", "/opt/homebrew/bin/node", 501, 20, in(501), false, false},
		{"the user's own group", "darwin", "/opt/homebrew/bin/node", 501, 20, in(20), false, true},
		{"the group of that number elsewhere", "linux", "/opt/n/bin/node", 501, 80, nil, false, false},
		{"the user's own group elsewhere", "linux", "/opt/n/bin/node", 501, 80, in(80), false, true},
		{"another user", "darwin", "/opt/homebrew/bin/node", 502, 80, nil, false, false},
		{"an unmapped owner", "linux", "/usr/bin/node", unmapped, 80, in(80), true, true},
		{"an unmapped owner of other directories", "linux", "/srv/bin/node", unmapped, 80, in(80), true, false},
		{"a mapped owner", "linux", "/usr/bin/node", 502, 80, in(80), true, false},
		{"no user namespace", "linux", "/usr/bin/node", unmapped, 80, in(80), false, false},
	} {
		h := mac(t, c.file)
		h.OS, h.OwnGroup, h.Environ = c.os, c.ownGroup, []string{"PATH=/opt/homebrew/bin:/opt/n/bin:/srv/bin:/usr/bin"}
		lstat := h.Lstat
		h.Lstat = func(p string) (hostfs.FileInfo, error) {
			info, err := lstat(p)
			if info.UID, info.GID = c.uid, c.gid; p == "/" {
				info.UID, info.GID = 0, 0
			}
			return info, err
		}
		if c.isUnmapped {
			h.Unmapped = func(uid int) bool { return uid == unmapped }
		}
		found, err := InterpreterFinder{Host: h, Version: func(context.Context, string) (string, error) { return "24.1.0", nil }}.find(t.Context(), Node)
		if got := len(found.Interpreters) == 1; err != nil || got != c.want || got == (len(found.Refused) == 1) {
			t.Errorf("%s: %v, refused %v, %v", c.name, found.Interpreters, found.Refused, err)
		}
	}
}
