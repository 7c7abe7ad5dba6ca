package diagnostics

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestNoWrite checks that no line lets a server write to what it is started from, or to what other
// programs run or obey, where no entry of its policy protects it. A file beside each gets a line.
func TestNoWrite(t *testing.T) {
	for _, tt := range testkit.Table[struct{ no, yes string }](t, "nowrite.txt") {
		for _, path := range []string{tt.no, tt.yes} {
			ev := evidence("it failed")
			ev.Denials = []policy.Denial{{Axis: policy.AxisFs, Operation: "write", Target: path, Program: "/usr/bin/node", Count: 1}}
			ev.Exists, ev.SearchPath = func(p string) bool { return p == path || strings.HasPrefix(path, p+"/") }, "/usr/bin:/data/bin"
			host := fakeHost(hostFiles)
			host.Environ = []string{"PATH=/usr/bin:/data/bin"}
			ev.Harm = judge(&policy.Policy{}, host)
			ev.Profile.Programs, ev.Profile.Loaders = []string{"/data/tools/helper"}, []string{"/data/lib/ld.so"}
			ev.Profile.Parts = []policy.Part{{Path: "/data/srv"}}
			if d := Diagnose(ev); strings.Contains(strings.Join(d.Words, "\n"), "--write") != (path == tt.yes) {
				t.Errorf("%s\n%s", path, d.Text())
			}
		}
	}
}
