package resolve

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

func TestUnsafeWorkspace(t *testing.T) {
	h := newFake(aSystem, `d /home/u/.config/mcp-jail
		d /home/u/.ssh/x
		d /var/www/site
		d /usr/src/app
		d /etc/x
		l /home/u/sneaky /
		d /home/u/.local/state/mcp-jail/servers
		d /home/u/.cache/mcp-jail/catalog
		d /home/u/.cache/other`)
	for dir, safe := range map[string]bool{
		"/": false, "/home/u": false, "/home": false, "/usr": false, "/usr/bin": false, "/etc/x": false, "/tmp": false, "/home/u/sneaky": false,
		"/home/u/.config/mcp-jail": false, "/home/u/.config": false, "/home/u/.local": false, "/home/u/.local/state/mcp-jail/servers": false, "/home/u/.cache": false, "/home/u/.cache/mcp-jail/catalog": false, "/home/u/.ssh": false, "/home/u/.ssh/x": false,
		"/home/u/proj": true, "/var/www/site": true, "/usr/src/app": true, "/home/u/.cache/other": true,
	} {
		p, ws := mustResolve(t, h, aServer, func(h *hostfs.Host) { h.Dir = dir })
		if got := p.Workspace != "" && p.RightsAt(p.Workspace).Has(policy.Read|policy.Write); got != safe {
			t.Errorf("%s: granted %v, want %v", dir, got, safe)
		}
		if safe {
			continue
		}
		if codes(ws) != "no-workspace" || !strings.Contains(ws[0].Message, "--workspace") {
			t.Errorf("%s: warnings %v", dir, ws)
		}
		if p.Dir != p.Home || !p.HomePrivate {
			t.Errorf("%s: starts in %s", dir, p.Dir)
		}
	}
	p, ws := mustResolve(t, newFake(aSystem, "d /data/homes/u"), aServer, func(h *hostfs.Host) { h.Dir, h.Home = "/data/homes", "/data/homes/u" })
	if p.Workspace != "" || !strings.Contains(ws[0].Message, "holds the home directory") {
		t.Errorf("an ancestor of home: %v", ws)
	}
	// With an access table it is a place like others.
	p, _ = mustResolve(t, h, fsRules(".:r"), func(h *hostfs.Host) { h.Dir = "/home/u" })
	if p.RightsAt("/home/u/x") != policy.Read || p.RightsAt("/home/u/.ssh/x") != 0 || p.Dir != "/home/u" {
		t.Errorf("explicit rule: %s", printProfile(p))
	}
	// A working directory that is gone is no error when nobody named it.
	if p, ws := mustResolve(t, h, aServer, func(h *hostfs.Host) { h.Dir = "/gone" }); p.Workspace != "" || codes(ws) != "no-workspace" {
		t.Errorf("gone: %v", ws)
	}
}
