package resolve

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/command"
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

// TestStrayScripts checks that a link in the workspace does not extend the grant for a
// script. The user wrote the link's path, and the server could choose its target.
func TestStrayScripts(t *testing.T) {
	h := newFake(aSystem, `
		l /home/u/proj/server.py ../.ssh/id
		f /home/u/.ssh/id
		l /home/u/proj/notes.py ../notes/n.py
		f /home/u/notes/n.py
		l /home/u/proj/dir ../app
		f /home/u/app/package.json
		f /home/u/app/index.js
		l /home/u/proj/tool ../bin/tool
		x /home/u/bin/tool #!/usr/bin/python3\n
		l /home/u/proj/v/bin/python3 /home/u/py/bin/python3
		f /home/u/proj/v/pyvenv.cfg
		x /home/u/py/bin/python3
		l /home/u/proj/in.py src/in.py
		f /home/u/proj/src/in.py`)
	server := func(line string) string {
		words := strings.Fields(line)
		for i := range words {
			words[i] = show.TOML(words[i])
		}
		return "[servers.s]\ncommand = " + words[0] + "\narguments = [" + strings.Join(words[1:], ", ") + "]\n"
	}
	for line, outside := range map[string]string{
		"python3 server.py":               "/home/u/.ssh/id",
		"python3 /home/u/proj/server.py":  "/home/u/.ssh/id",
		"python3 notes.py":                "/home/u/notes",
		"node dir":                        "/home/u/app",
		"node dir/index.js":               "/home/u/app/index.js",
		"uv --directory dir run index.js": "/home/u/app",
	} {
		if strings.HasPrefix(line, "uv") {
			h.add("x /usr/bin/uv")
		}
		p, ws := mustResolve(t, h, server(line))
		if p.RightsAt(outside) != 0 || !strings.Contains(codes(ws), "stray-script") {
			t.Errorf("%s: %s: %s, warnings %v", line, outside, p.RightsAt(outside), ws)
		}
	}
	if _, _, err := resolveFake(t, h, server("./tool")); err == nil || !strings.Contains(err.Error(), "name that script itself: /home/u/bin/tool") {
		t.Errorf("a program that is a link to a script outside: %v", err)
	}
	// The server could remove a package.json. That does not widen the package.
	mono := newFake(aSystem, "f /home/u/src/package.json\nd /home/u/src/node_modules\nf /home/u/src/other/x.js\nf /home/u/src/w/dist/index.js")
	p, _ := mustResolve(t, mono, server("node dist/index.js"), func(h *hostfs.Host) { h.Dir = "/home/u/src/w" })
	for path, want := range map[string]policy.Rights{"/home/u/src/other/x.js": 0, "/home/u/src/package.json": policy.Read | policy.Execute, "/home/u/src/node_modules/x": policy.Read | policy.Execute, "/home/u/src/w/dist/index.js": policy.Read | policy.Write | policy.Execute} {
		if got := p.RightsAt(path); got != want {
			t.Errorf("a package around the workspace: %s: %s, want %s", path, got, want)
		}
	}
	// A link to an interpreter, or to a place inside the workspace, is accepted.
	if p, ws := mustResolve(t, h, server("./v/bin/python3 in.py")); p.RightsAt("/home/u/py/lib/x") == 0 || strings.Contains(codes(ws), "stray") {
		t.Errorf("a virtual environment: %v", ws)
	}
	// An ELF file gets no grant for a directory that it names as its loader.
	elf := "\x7fELF\x02\x01" + strings.Repeat("\x00", 26) + "\x40" + strings.Repeat("\x00", 21) + "\x38\x00\x01\x00" + strings.Repeat("\x00", 6)
	name := "/home/u/notes\x00"
	head := "\x03\x00\x00\x00\x00\x00\x00\x00" + "\x78" + strings.Repeat("\x00", 23) + string(rune(len(name))) + strings.Repeat("\x00", 23)
	h["/home/u/proj/bad"] = fakeFile{mode: 0o755, text: elf + head + name}
	if got := command.Loader([]byte(elf + head + name)); got != "/home/u/notes" {
		t.Fatalf("the test's file names %q", got)
	}
	if p, _ := mustResolve(t, h, server("./bad")); p.RightsAt("/home/u/notes") != 0 {
		t.Errorf("a loader that is a directory: %s", p.RightsAt("/home/u/notes"))
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
