package resolve

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// foldingHost returns an edit that makes a fake host ignore case below dir.
func foldingHost(h fakeHost, dir string) func(*hostfs.Host) {
	return func(host *hostfs.Host) {
		lstat := host.Lstat
		host.Lstat = func(name string) (hostfs.FileInfo, error) {
			for real := range h {
				if policy.Within(real, dir) && strings.EqualFold(real, name) {
					return lstat(real)
				}
			}
			return lstat(name)
		}
	}
}

// TestIgnoreCase checks that the profile lists the directories that ignore case and have entries that take rights
// away.
func TestIgnoreCase(t *testing.T) {
	files := `
		f /home/u/proj/keys/4711
		f /home/u/proj/config
		f /home/u/proj/sub/config
		f /home/u/proj/deep/x/config
		f /home/u/proj/other/config`
	rules := fsTables(".:rw", "keys/4711:", "config:-w", "deep/x/config:-w", "sub:rw")
	h := newFake(aSystem, "d /home/u/proj", files)
	for _, c := range []struct{ ignores, want string }{
		{"", "[]"},
		{"/home/u/proj", "[/home/u/proj /home/u/proj/deep /home/u/proj/deep/x /home/u/proj/keys]"},
		{"/home/u/proj/deep", "[/home/u/proj/deep /home/u/proj/deep/x]"},
		{"/home/u/proj/other", "[]"},
	} {
		var edit []func(*hostfs.Host)
		if c.ignores != "" {
			edit = append(edit, foldingHost(h, c.ignores))
		}
		p, _ := mustResolve(t, newFake(aSystem, "d /home/u/proj", files), "[servers.s]\ncommand = \"/usr/bin/node\"\n"+rules, edit...)
		if got := fmt.Sprint(p.IgnoreCase); got != c.want {
			t.Errorf("%s: %s, want %s", c.ignores, got, c.want)
		}
	}
}
