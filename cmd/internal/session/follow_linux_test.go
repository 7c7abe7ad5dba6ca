package session

import (
	"os"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestFollowedTools tests that the profile of a tool is that of the newest configuration, also if
// it was resolved and kept before, and that a configuration with a mistake changes nothing.
func TestFollowedTools(t *testing.T) {
	_, grant, found := changingHost(t, "stateful = false\n[[servers.s.tools.read.access.fs]]\npath = \"GRANT\"\nread = true\n")
	file := found.source.options.Files[0]
	text, err := os.ReadFile(file)
	must(t, err)
	write := func(text string) {
		t.Helper()
		must(t, os.WriteFile(file, []byte(text), 0o644))
	}
	write(string(text))
	f := found.Follow(terminal.Console{})
	defer f.Close()
	f.Refresh() // the file was written again
	tools := &toolCache{}
	rights := func() policy.Rights {
		t.Helper()
		var all policy.Rights
		for range 2 { // the second one may be kept from the first
			tool, err := tools.get(f.target(), "read")
			must(t, err)
			all |= tool.Profile.RightsAt(grant)
		}
		return all
	}
	if r := f.Refresh(); r.Changed || r.Notice+r.Problem != "" || rights() != policy.Read {
		t.Fatalf("the control: %+v, %v", r, rights())
	}
	write(strings.Replace(string(text), "read = true", "write = true # and not read", 1))
	if r := f.Refresh(); !r.Changed || r.Notice == "" || r.Problem != "" {
		t.Errorf("%+v", r)
	}
	if got := rights(); got.Has(policy.Read) || !got.Has(policy.Update) {
		t.Errorf("rights %v", got)
	}
	write("nonsense = 1\nmore = 2\n")
	for range 2 {
		if r := f.Refresh(); r.Changed || !strings.Contains(r.Problem, "nonsense") || !strings.Contains(r.Problem, "(and 1 more: mcp-jail check)") || !rights().Has(policy.Update) {
			t.Errorf("%+v, rights %v", r, rights())
		}
	}
	write(string(text))
	if r := f.Refresh(); !r.Changed || r.Problem != "" || rights() != policy.Read {
		t.Errorf("%+v, rights %v", r, rights())
	}
}
