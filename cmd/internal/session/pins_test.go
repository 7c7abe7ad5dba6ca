package session

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/lifecycle"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/packages/store"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestPinTools: the tools of an installed package are compared, as pin_tools says, and those
// of other servers are not.
func TestPinTools(t *testing.T) {
	entry := &store.Entry{Key: store.Key{Ecosystem: store.NPM, Spec: "files@^1 other"}}
	pkg := Package{line: runline.Line{Args: []string{"/data"}}, program: &installed.Program{Entry: entry}, host: &hostfs.Host{}}
	for name, c := range map[string]struct {
		pkg            *Package
		mode           string
		pinned, strict bool
	}{
		"warn":          {&pkg, policy.PinWarn, true, false},
		"enforce":       {&pkg, policy.PinEnforce, true, true},
		"off":           {&pkg, policy.PinOff, false, false},
		"no package":    {nil, policy.PinEnforce, false, false},
		"not installed": {&Package{}, policy.PinEnforce, false, false},
	} {
		if c.pkg != nil {
			c.pkg.rules.PinTools = c.mode
		}
		var s lifecycle.Session
		c.pkg.PinTools(&s)
		if s.Pins != nil != c.pinned || s.EnforcePins != c.strict {
			t.Errorf("%s: %+v, %v", name, s.Pins, s.EnforcePins)
		}
		if s.Pins == nil {
			continue
		}
		if got, want := s.Pins.Accept(), "mcp-jail install --accept-tools 'files@^1 other'"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if s.Pins.Name(nil) == "default" {
			t.Error("the arguments do not count")
		}
	}
}
