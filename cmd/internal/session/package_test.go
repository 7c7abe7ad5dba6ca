package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/lifecycle"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/packages/store"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestAsked tests which arguments of mcp-jail install advice names for a package.
func TestAsked(t *testing.T) {
	for line, want := range map[string]string{
		"npx -y files /data":             "-- npx -y files",
		"uvx --from files serve key=abc": "-- uvx --from files serve",
		"env A=1 npx -y files@^1 a b":    "-- env A=1 npx -y 'files@^1'",
		"npx -y files":                   "-- npx -y files",
	} {
		words := strings.Fields(line)
		parsed, err := runline.Parse(words)
		testkit.Must(t, err)
		given := &Target{Policy: &policy.Policy{Server: "files-1"}, given: words}
		if got := given.newPackage(parsed, nil).asked; got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	waives := &Target{Policy: &policy.Policy{Server: "files-1"}, given: []string{"npx", "-y", "files"}}
	waives.commandLine.Waive = []policy.Axis{policy.AxisFs, policy.AxisLimits}
	if got, want := waives.Asked(), "--waive fs --waive limits -- npx -y files"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	configured := &Target{Config: &config.Config{}, Policy: &policy.Policy{Server: "files"}}
	if got := configured.Asked(); got != "files" || !IsOwn(configured) {
		t.Error(got, IsOwn(configured))
	}
	configured.Host.Configs = []string{"/a b/c.toml"}
	if IsOwn(configured) {
		t.Error("the line of a file that --config names is of the user's own")
	}
	if got, want := configured.Asked(), "--config '/a b/c.toml' files"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestUntrustedUnknown: while it cannot be read where other servers may write, no file is trusted.
func TestUntrustedUnknown(t *testing.T) {
	host := testkit.Get(hostfs.LocalHostOf(t.TempDir(), nil))(t)
	host.ConfigDir, host.StateDir = t.TempDir(), t.TempDir()
	untrusted := func() string {
		return (&Target{Host: host, Policy: &policy.Policy{Server: "s"}}).Untrusted("/usr/bin/env")
	}
	if why := untrusted(); why != "" {
		t.Errorf("without notes: %s", why)
	}
	testkit.Must(t, os.Mkdir(filepath.Join(host.StateDir, "writes"), 0o700))
	testkit.WriteFile(t, filepath.Join(host.StateDir, "writes", "all.json"), "[{")
	if why := untrusted(); !strings.Contains(why, "all.json") {
		t.Errorf("with notes that cannot be read: %q", why)
	}
}

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
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		if s.Pins.Name(nil) == "default" {
			t.Errorf("%s: the arguments do not count", name)
		}
	}
}
