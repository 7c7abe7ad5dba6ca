package resolve

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestHostSockets checks that a socket in a granted directory is hidden unless a rule
// names it.
func TestHostSockets(t *testing.T) {
	h := newFake(aSystem, `
		s /home/u/proj/run/db.sock
		f /home/u/proj/run/db.pid
		p /home/u/proj/run/fifo`)
	for _, tt := range []struct {
		rules []string
		want  policy.Rights
	}{
		{[]string{"/home/u/proj:rw"}, 0},
		{[]string{"/home/u/proj:r"}, 0},
		{[]string{"/home/u/proj:rw", "/home/u/proj/run:rw"}, 0},
		{[]string{"/home/u/proj:rw", "/home/u/proj/run/db.sock:rw"}, policy.Read | policy.Write},
	} {
		p, _ := mustResolve(t, h, fsRules(tt.rules...))
		if got := p.RightsAt("/home/u/proj/run/db.sock"); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.rules, got, tt.want)
		}
		if p.RightsAt("/home/u/proj/run/db.pid") == 0 || p.RightsAt("/home/u/proj/run/fifo") == 0 {
			t.Errorf("%v: the neighbours of the socket are hidden too", tt.rules)
		}
	}
}

// TestFifosInReadOnlyParts checks that a fifo or a device is hidden in a part that only a mount makes
// read-only: such a mount does not prevent writes to it.
func TestFifosInReadOnlyParts(t *testing.T) {
	h := newFake(aSystem, "p /home/u/proj/run/ctl\nc /home/u/proj/run/device\nd /home/u/proj/run/sub\np /home/u/proj/free")
	for _, tt := range []struct {
		toml, path string
		want       policy.Rights
	}{
		{fsRules(".:rw", "run:-w"), "/home/u/proj/run/ctl", 0},
		{fsRules(".:r", "run:-w"), "/home/u/proj/run/ctl", policy.Read},
		{fsRules(".:rw", "run:-w"), "/home/u/proj/free", policy.Read | policy.Write},
		{fsRules(".:rw", "run:-w"), "/home/u/proj/run/device", 0},
		{fsRules(".:rw", "run/ctl:-w"), "/home/u/proj/run/ctl", 0},
		{fsRules(".:rw", "run/sub:-w"), "/home/u/proj/run/device", policy.Read | policy.Write},
	} {
		p, _ := mustResolve(t, h, tt.toml)
		if got := p.RightsAt(tt.path); got != tt.want {
			t.Errorf("%s: %s, want %s\n%s", tt.path, got, tt.want, tt.toml)
		}
	}
}

// TestSpecialFilesOfProtectedNames: what is no file under a protected name is hidden, because a
// read-only mount would not keep it from being written. It needs no waiver, and a rule that names it
// grants it.
func TestSpecialFilesOfProtectedNames(t *testing.T) {
	h := newFake(aSystem, `
		p /home/u/proj/.mcp.json
		p /home/u/proj/.vscode
		f /home/u/proj/.gitmodules
		p /home/u/proj/other`)
	for _, tt := range []struct {
		rules []string
		name  string
		want  policy.Rights
	}{
		{[]string{".:rw"}, ".mcp.json", 0},
		{[]string{".:rw"}, ".vscode", 0},
		{[]string{".:rw"}, ".gitmodules", policy.Read},
		{[]string{".:rw"}, "other", policy.Read | policy.Write},
		{[]string{".:r"}, ".mcp.json", policy.Read},
		{[]string{".:rw", ".mcp.json:rw"}, ".mcp.json", policy.Read | policy.Write},
	} {
		p, _ := mustResolve(t, h, fsRules(tt.rules...))
		if got := p.RightsAt("/home/u/proj/" + tt.name); got != tt.want {
			t.Errorf("%v: %s: %s, want %s", tt.rules, tt.name, got, tt.want)
		}
	}
}

// TestMadeDuringResolve tests that a file is hidden which is made after its directory was listed,
// and before the search for names that must be hidden comes to it.
func TestMadeDuringResolve(t *testing.T) {
	h := newFake(aSystem, "d /home/u/.cache\nf /home/u/.cache/old/.env")
	listed := 0
	p, _ := mustResolve(t, h, fsRules("/home/u/.cache:rw"), func(host *hostfs.Host) {
		readDir := host.ReadDir
		host.ReadDir = func(p string) ([]hostfs.DirEntry, error) {
			entries, err := readDir(p)
			if p == "/home/u/.cache" {
				if listed++; listed == 1 {
					h.add("f /home/u/.cache/new/.env")
					h.add("f /home/u/.cache/new/plain")
				}
			}
			return entries, err
		}
	})
	if listed < 2 {
		t.Fatalf("control: the directory was listed %d times", listed)
	}
	for _, name := range []string{"old/.env", "new/.env"} {
		if got := p.RightsAt("/home/u/.cache/" + name); got != 0 {
			t.Errorf("%s: %s", name, got)
		}
	}
	if p.RightsAt("/home/u/.cache/new/plain") == 0 {
		t.Error("control: its neighbour is hidden, too")
	}
}
