package resolve

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestHomeLinks has rules and their places in the private HOME.
func TestHomeLinks(t *testing.T) {
	const files = `
		f /home/u/.thing/keys.json
		f /home/u/.ssh/id
		f /home/u/.aws/credentials
		d /home/u/.config/mcp-jail
		f /home/u/proj/a/b
		d /home/u/.local/state/mcp-jail/servers/s/home
		d /data/notes
		f /data/x
		l /home/u/notes /data/notes
		l /data/back /home/u/.thing
		l /home/u/.config/mcp-jail/out /data/x
		l /home/u/in /home/u/.local/state/mcp-jail/servers`
	elsewhere := func(h *hostfs.Host) { h.Dir = "/data" }
	for _, c := range []struct {
		name, rules string // the rules separated by spaces
		edit        func(*hostfs.Host)
		want        string
	}{
		{"~", "~/.thing/keys.json:r", nil, ".thing/keys.json"},
		{"absolute", "/home/u/.thing:rw", nil, ".thing/"},
		{"a directory whose names may not be read", "~/.thing:w", nil, ".thing"},
		{"not cleaned", "~/./.thing//keys.json:r", nil, ".thing/keys.json"},
		{"relative", "a/b:r", nil, "proj/a/b"},
		{"the workspace, by a rule", ".:rw", nil, "proj/"},
		{"each, sorted", "~/notes:r ~/.thing/keys.json:r ~/.thing:r", nil, ".thing/ .thing/keys.json notes/=/data/notes"},
		{"a link leads elsewhere", "~/notes:r", nil, "notes/=/data/notes"},
		{"written outside of the home", "/data/back:r /data/x:r", nil, ""},
		{"a sensitive path that a rule names", "~/.aws/credentials:r", nil, ".aws/credentials"},
		{"made by the start", "~/new/:rw", nil, "new/"},
		{"missing", "~/new:rw ~/gone/:r", nil, ""},
		{"without rights", "~/.thing:", nil, ""},
		{"a denial takes the rights", "~/.thing:r /data/back:", nil, ""},
		{"the home, and around it", "~:r /home:r /:r", nil, ""},
		{"what mcp-jail keeps", "~/.config/mcp-jail:r ~/.local/state/mcp-jail/servers:r", nil, ""},
		{"written in what mcp-jail keeps, and a link leads out", "~/.config/mcp-jail/out:r", nil, ""},
		{"a link leads to what mcp-jail keeps", "~/in:r", nil, ""},
		{"around what mcp-jail keeps", "~/.config:r", nil, ".config/"},
		{"outside of the home", "x:r", elsewhere, ""},
		{"a home that a link leads to", "~/.thing:r /home/u/proj/a:r /homes/u/.ssh:r", func(h *hostfs.Host) { h.Home = "/homes/u" }, ".ssh/ .thing/ proj/a/"},
	} {
		fake := newFake(aSystem, files, "l /homes /home")
		if c.edit == nil {
			c.edit = func(*hostfs.Host) {}
		}
		p, _ := mustResolve(t, fake, fsRules(strings.Fields(c.rules)...), c.edit)
		var got []string
		for _, l := range p.HomeLinks {
			text := l.Path
			if l.Dir {
				text += "/"
			}
			if l.Target != "/home/u/"+l.Path {
				text += "=" + l.Target
			}
			got = append(got, text)
			if e, ok := p.Find(l.Target); !ok || e.Path == l.Target && e.ID != l.ID {
				t.Errorf("%s: %+v is not %+v", c.name, l, e)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(strings.Fields(c.want)) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		host := fake.host()
		c.edit(&host)
		cfg, err := config.Decode([]byte(fsRules(strings.Fields(c.rules)...)), "c.toml")
		testkit.Must(t, err)
		of, err := cfg.Policy("s", "")
		testkit.Must(t, err)
		if alone := HomeLinks(of, host); fmt.Sprint(alone) != fmt.Sprint(p.HomeLinks) {
			t.Errorf("%s: without the rest of the profile %v, want %v", c.name, alone, p.HomeLinks)
		}
	}
	if p, _ := mustResolve(t, newFake(aSystem, files), aServer+"home = \"real\"\n"+fsTables("~/.thing:r")); p.HomeLinks != nil {
		t.Errorf("the real HOME: %v", p.HomeLinks)
	}
	if p, _ := mustResolve(t, newFake(aSystem, files), aServer); p.HomeLinks != nil || p.Workspace != "/home/u/proj" {
		t.Errorf("the default policy: %v", p.HomeLinks)
	}
}
