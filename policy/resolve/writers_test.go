package resolve

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestReachOfNothing checks that a relative rule that grants nothing where a server is started gives
// it no hold on anything there.
func TestReachOfNothing(t *testing.T) {
	rule := policy.FsRule{Path: ".", Read: true, Create: true, Update: true, Delete: true, Where: "an argument"}
	for _, c := range []struct {
		dir                 string
		preset, commandLine bool
		holds               bool
	}{
		{"/home/u", true, false, false},
		{"/home/u", false, true, false},
		{"/home/u/.config/autostart", true, false, false},
		{"/home/u/proj", true, true, true}, // the control
		{"/home/u", false, false, true},    // a rule of the user's own
	} {
		h := newFake(aSystem, "f /home/u/x\nf /home/u/proj/x\nf /home/u/.config/autostart/x").host()
		h.Dir = c.dir
		r := rule
		r.Preset = c.preset
		p := &policy.Policy{Server: "s", Command: "server", FromCommandLine: c.commandLine, Fs: []policy.FsRule{r}}
		paths := hostfs.NewLinkResolver(&h)
		if why := WhyChangeable(ReachOf(p, h), paths, c.dir+"/x"); (why != "") != c.holds {
			t.Errorf("%+v: %q", c, why)
		}
	}
}
