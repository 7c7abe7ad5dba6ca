package resolve

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestConfigDirectory checks that ~/.config is listed first, so that Resolve need not ask
// for each absent name in it. It asks if the directory can be listed but not searched, or
// is reached through a link.
func TestConfigDirectory(t *testing.T) {
	listable := func(h *hostfs.Host) {
		h.UID = 0
		readDir := h.ReadDir
		h.ReadDir = func(p string) ([]hostfs.DirEntry, error) {
			if p == "/home/u/.config" {
				return nil, nil
			}
			return readDir(p)
		}
	}
	p, ws := mustResolve(t, newFake(aSystem, "0 /home/u/.config"), fsRules("~:rw"), listable)
	if got := p.RightsAt("/home/u/.config"); got != 0 || !strings.Contains(codes(ws), "unreadable") {
		t.Errorf("what cannot be searched: %s, warnings %v", got, ws)
	}
	asked := 0
	count := func(h *hostfs.Host) {
		lstat := h.Lstat
		h.Lstat = func(p string) (hostfs.FileInfo, error) {
			if strings.HasPrefix(p, "/home/u/proj/.") || p == "/home/u/.config/gh" {
				asked++
			}
			return lstat(p)
		}
	}
	if mustResolve(t, newFake(aSystem, "l /home/u/.config proj\nf /home/u/proj/x"), fsRules(".:rw"), count); asked == 0 {
		t.Error("through a link: names in the workspace were not asked about")
	}
	asked = 0
	if mustResolve(t, newFake(aSystem, "d /home/u/.config/x\nd /srv/app"), fsRules("/srv/app:r"), count); asked != 0 {
		t.Errorf("Resolve asked for %d absent names", asked)
	}
}

// TestMissingDenied: what the host makes at the path of a denial stays as it is, also if it was missing at the start.
func TestMissingDenied(t *testing.T) {
	h := newFake(aSystem, "f /home/u/proj/there/f")
	for _, rights := range []string{"u", "d"} { // what the host makes there stays as it is
		p, _ := mustResolve(t, h, fsRules(".:r"+rights, "private:"))
		if !slices.Contains(p.Unprotected, "/home/u/proj/private") {
			t.Errorf("r%s: the server may change private: %v", rights, p.Unprotected)
		}
	}
}
