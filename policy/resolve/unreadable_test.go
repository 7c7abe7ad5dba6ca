package resolve

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestUnreadableDirectories checks that a directory that the scan cannot read is hidden. A
// server could remove the right to read it before a start, so that the scan finds nothing,
// and restore it afterwards.
func TestUnreadableDirectories(t *testing.T) {
	owner := func(h *hostfs.Host) { h.UID = 0 } // the owner of the fake's files
	for _, tt := range []struct {
		name, files, toml, path string
		owner                   bool
		want                    policy.Rights
	}{
		{"a name to hide", "f /home/u/proj/sub/.env\n0 /home/u/proj/sub", aServer, "/home/u/proj/sub/.env", true, 0},
		{"at the root", "f /home/u/proj/.env\n0 /home/u/proj", aServer, "/home/u/proj/.env", true, 0},
		{"a repository", "f /home/u/proj/.git/hooks/x\n0 /home/u/proj/.git", aServer, "/home/u/proj/.git/hooks/x", true, 0},
		{"a repository below", "f /home/u/proj/sub/.git/hooks/x\n0 /home/u/proj/sub", aServer, "/home/u/proj/sub/.git/hooks/x", true, 0},
		{"a sensitive path", "f /home/u/.config/gh/hosts.yml\n0 /home/u/.config", fsRules("~:rw"), "/home/u/.config/gh/hosts.yml", true, 0},
		{"a pattern", "f /home/u/.config/google-chrome-x/Cookies\n0 /home/u/.config", fsRules("~:r"), "/home/u/.config/google-chrome-x/Cookies", true, 0},
		{"a rule", "f /home/u/proj/sub/keys/k\n0 /home/u/proj/sub", fsRules(".:rw", "sub/keys:"), "/home/u/proj/sub/keys/k", true, 0},
		{"what is granted beside it", "f /home/u/proj/x\n0 /home/u/proj/sub", aServer, "/home/u/proj/x", true, policy.Read | policy.Write},
		{"another user's", "f /home/u/proj/sub/.env\n0 /home/u/proj/sub", aServer, "/home/u/proj/sub", false, policy.Read | policy.Write},
	} {
		edit := func(*hostfs.Host) {}
		if tt.owner {
			edit = owner
		}
		p, ws := mustResolve(t, newFake(aSystem, tt.files), tt.toml, edit)
		if got := p.RightsAt(tt.path); got != tt.want {
			t.Errorf("%s: %s: %s, want %s", tt.name, tt.path, got, tt.want)
		}
		if told := strings.Contains(codes(ws), "unreadable"); told != tt.owner {
			t.Errorf("%s: warnings %v", tt.name, ws)
		}
		checkProfile(t, p)
	}
}

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

// TestCaseInsensitiveDirectory checks that a sensitive path is hidden if the host finds it
// under another spelling than the listed one, because it ignores case or composes letters.
func TestCaseInsensitiveDirectory(t *testing.T) {
	const decomposed, composed = "cle\u0301", "cl\u00e9"
	composes := func(listed, asked string) bool { return listed == strings.Replace(asked, composed, decomposed, 1) }
	for _, tt := range []struct {
		listed, asked string
		same          func(listed, asked string) bool
	}{
		{"/home/u/.SSH", "/home/u/.ssh", strings.EqualFold},
		{"/home/u/.config/GH", "/home/u/.config/gh", strings.EqualFold},
		{"/home/u/" + decomposed, "/home/u/" + composed, composes},
	} {
		fake := newFake(aSystem, "f "+tt.listed+"/secret")
		folding := func(h *hostfs.Host) {
			lstat := h.Lstat
			h.Lstat = func(p string) (hostfs.FileInfo, error) {
				for name := range fake {
					if tt.same(name, p) {
						return lstat(name)
					}
				}
				return lstat(p)
			}
		}
		rules := strings.Replace(fsRules("~:r"), "access]\n", "access]\nsensitive_paths = [\"~/"+composed+"\"]\n", 1)
		if p, _ := mustResolve(t, fake, rules, folding); p.RightsAt(tt.asked) != 0 {
			t.Errorf("%s: %s", tt.asked, p.RightsAt(tt.asked))
		}
		if p, _ := mustResolve(t, fake, rules, func(*hostfs.Host) {}); p.RightsAt(tt.asked) == 0 {
			t.Errorf("control: %s is hidden where it is another name", tt.asked)
		}
	}
}

// TestHiddenLater tests which paths are hidden if the host makes them after the start.
func TestHiddenLater(t *testing.T) {
	h := newFake(aSystem, `
		f /home/u/proj/there/f
		d /home/u/.ssh`)
	for _, c := range []struct {
		rules       []string
		has, hasNot string
	}{
		{[]string{".:rw", "private:", "there:", "read:r"}, "/home/u/proj/private", "/home/u/proj/there /home/u/proj/read /home/u/.aws"},
		{[]string{".:r", "private:"}, "/home/u/proj/private", "/home/u/.aws"},
		{[]string{"~:r"}, "/home/u/.aws /home/u/.netrc", "/home/u/.ssh /home/u/.bashrc"},
		{[]string{".:cud", "private:"}, "", "/home/u/proj/private"}, // nothing can be read there anyway
	} {
		p, _ := mustResolve(t, h, fsRules(c.rules...))
		for _, name := range strings.Fields(c.has) {
			if !p.HidesLater(name) || !p.HidesLater(name+"/x") {
				t.Errorf("%v: %s is not hidden later: %v", c.rules, name, p.HiddenLater)
			}
		}
		for _, name := range strings.Fields(c.hasNot) {
			if p.HidesLater(name) {
				t.Errorf("%v: %s is hidden later", c.rules, name)
			}
		}
	}
	for _, rights := range []string{"u", "d"} { // what the host makes there stays as it is
		p, _ := mustResolve(t, h, fsRules(".:r"+rights, "private:"))
		if !slices.Contains(p.Unprotected, "/home/u/proj/private") {
			t.Errorf("r%s: the server may change private: %v", rights, p.Unprotected)
		}
	}
}
