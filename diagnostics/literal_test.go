package diagnostics

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestModuleOutside: node's words for a script that the jail does not show. One that is
// not on the host either gets no line.
func TestModuleOutside(t *testing.T) {
	for path, flags := range map[string]string{
		"/srv/models/m.bin": "--read /srv/models/m.bin",
		"/srv/none.js":      "",
	} {
		ev := evidence("")
		ev.Stage, ev.Text, ev.Exit, ev.FromCommandLine = StageBoot, "", &Exit{Code: 1}, true
		ev.Stderr = []string{"Error: Cannot find module '" + path + "'", "    at Module._resolveFilename (node:internal/modules/cjs/loader:1207:15)", "Node.js v20.20.2"}
		if d := Diagnose(ev); strings.Join(d.Flags, " ") != flags {
			t.Errorf("%s: %q: %s; %s", path, d.Flags, d.Cause, d.Fix)
		}
	}
}

// TestSocketInTheNameOfAHost: curl --unix-socket names the host of the URL, which nothing
// looked for. A host that was looked for too keeps its line.
func TestSocketInTheNameOfAHost(t *testing.T) {
	socket := Denial{Axis: policy.AxisIPC, Operation: "connect", Target: "/run/docker.sock", Count: 1}
	asked := Denial{Axis: policy.AxisNet, Operation: "resolve", Count: 1}
	for _, tt := range []struct {
		denials []Denial
		host    bool
	}{{nil, true}, {[]Denial{socket}, false}, {[]Denial{socket, asked}, true}} {
		ev := evidence("curl: (7) Failed to connect to db.example port 80 after 0 ms: Couldn't connect to server")
		ev.Profile = fixture(func(p *policy.Profile) { p.Net = nil })
		ev.Denials = tt.denials
		if d := Diagnose(ev); strings.Contains(strings.Join(d.Grant, "\n"), "db.example") != tt.host {
			t.Errorf("%v: %q", tt.denials, d.Grant)
		} else if tt.denials != nil && !strings.Contains(d.Hints[0].Warning, "is a socket of the host") {
			t.Errorf("a socket of the host is proposed without a word: %q", d.Hints[0].Fix)
		}
	}
}

// TestShellProgramOutside: a shell that did not find an executable file was to start it,
// so the first line that is proposed has the right for that; of another file it reads.
func TestShellProgramOutside(t *testing.T) {
	for path, execute := range map[string]bool{"/srv/models/run": true, "/srv/models/m.bin": false} {
		ev := evidence("bash: line 1: " + path + ": No such file or directory")
		exists := ev.Exists
		ev.Exists = func(p string) bool { return p == "/srv/models/run" || exists(p) }
		ev.Executable = func(p string) bool { return p == "/srv/models/run" }
		grant := strings.Join(Diagnose(ev).Grant, "\n")
		if !strings.Contains(grant, path) || strings.Contains(grant, "execute = true") != execute || strings.Contains(grant, "write") {
			t.Errorf("%s: %s", path, grant)
		}
	}
}

// TestSocketInAPlaceOfTheJailsOwn: the jail's /tmp may be written and has not the socket
// that the host's has, so a line is needed, and the rights on /tmp are none on it.
func TestSocketInAPlaceOfTheJailsOwn(t *testing.T) {
	ev := evidence("curl: (7) Failed to connect to x port 80 after 0 ms: Couldn't connect to server")
	ev.Denials = []Denial{{Axis: policy.AxisIPC, Operation: "connect", Target: "/tmp/shared.sock", Count: 1}}
	d := Diagnose(ev)
	if grant := strings.Join(d.Grant, "\n"); !strings.Contains(grant, `path = "/tmp/shared.sock"`) || !strings.Contains(grant, "update = true") || !strings.Contains(d.Cause, "/tmp of its own") {
		t.Errorf("%s: %s; %s", d.Cause, d.Fix, grant)
	}
}
