package resolve

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// foldingHost returns an edit that makes a fake host ignore case below dir.
func foldingHost(h fakeHost, dir string, oneName func(a, b string) bool) func(*hostfs.Host) {
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
		host.SameName = oneName
	}
}

// TestFolded checks that the profile lists the names that take rights away and that the
// host also finds under another spelling.
func TestFolded(t *testing.T) {
	files := `
		f /home/u/proj/keys/4711
		f /home/u/proj/config
		f /home/u/proj/sub/config
		d /home/u/proj/empty`
	rules := fsTables(".:rw", "keys/4711:", "config:-w", "empty/later/x:-w")
	show := func(edit ...func(*hostfs.Host)) string {
		h := newFake(aSystem, "d /home/u/proj", files)
		p, _ := mustResolve(t, h, "[servers.s]\ncommand = \"/usr/bin/node\"\n"+rules, edit...)
		var b strings.Builder
		for _, f := range p.Folded {
			if strings.HasPrefix(f.Path, "/home/u/proj/.") || slices.Contains(policy.ProtectedPaths(), path.Base(f.Path)) {
				continue // an absent protected name
			}
			fmt.Fprintf(&b, "%s %t %t\n", strings.TrimPrefix(f.Path, "/home/u/proj/"), f.ID != policy.FileID{}, f.BypassesMount)
		}
		return b.String()
	}
	h := newFake(aSystem, "d /home/u/proj", files)
	for _, c := range []struct {
		name string
		edit []func(*hostfs.Host)
		want string
	}{
		{"case counts", nil, ""},
		{"it does not", []func(*hostfs.Host){foldingHost(h, "/home/u/proj", nil)}, `config true true
empty true true
empty/later false false
empty/later/x false false
keys true true
keys/4711 true true
`},
		{"and the kernel knows", []func(*hostfs.Host){foldingHost(h, "/home/u/proj", func(a, b string) bool { return path.Dir(a) == path.Dir(b) })}, `config true false
empty true false
empty/later false false
empty/later/x false false
keys true false
keys/4711 true true
`},
		{"in one directory", []func(*hostfs.Host){foldingHost(h, "/home/u/proj/sub", nil)}, ""},
	} {
		if got := show(c.edit...); got != c.want {
			t.Errorf("%s:\n%swant\n%s", c.name, got, c.want)
		}
	}
}
