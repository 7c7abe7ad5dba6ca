package config

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestWorkspaceWord tests what the server may do in its workspace: what the word says, and without one
// nothing beside grants, and else to write.
func TestWorkspaceWord(t *testing.T) {
	const rw = policy.Read | policy.Write
	for access, want := range map[string]struct {
		rights    policy.Rights
		isDefault bool
	}{
		"": {rw, true}, "[servers.s.access]\n": {0, false}, "access.fs = []\n": {0, false}, "access.workspace = 'write'\n": {rw, true}, "access.workspace = 'read'\n": {policy.Read, false}, "access.workspace = 'none'\n": {0, false},
		"access.sensitive_paths = ['a']\n": {rw, true}, "access.fs = [{ path = 'a', deny = true }]\n": {rw, true}, "access.net = [{ host = 'a', allow = false }]\naccess.env = [{ name = 'A', read = false }]\n": {rw, true},
		"access.fs = [{ path = '~/a', read = true }]\n": {0, false}, "access.net = [{ host = 'a', allow = true }]\n": {0, false}, "access.commands.git = {}\n": {0, false}, "access.inbound = [{ port = 3000 }]\n": {0, false},
		"access.workspace = 'write'\naccess.net = [{ host = 'a', allow = true }]\n": {rw, false}, "access.workspace = 'read'\naccess.fs = [{ path = 'a', deny = true }]\n": {policy.Read, false},
	} {
		for _, tool := range []string{"", "t"} {
			text := "[servers.s]\ncommand = 'x'\n" + access
			if tool != "" {
				text = "[servers.s]\ncommand = 'x'\nstateful = false\n[servers.s.tools.t]\n" + strings.ReplaceAll(access, "[servers.s.access]", "[servers.s.tools.t.access]")
			}
			p, err := decoded(t, text).Policy("s", tool)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			var got policy.Rights
			for _, r := range p.Fs {
				if r.Workspace {
					got |= r.Rights()
				}
			}
			if got != want.rights || p.Default != want.isDefault {
				t.Errorf("%s: %s, default %v", text, got, p.Default)
			}
		}
	}
	// A later layer has the last word, and a word goes with grants of a lower one.
	c := decoded(t, "[servers.s]\ncommand = 'x'\naccess.workspace = 'none'\n")
	c.overlay(decoded(t, "[servers.s]\ncommand = 'x'\naccess.workspace = 'read'\naccess.net = [{ host = 'a', allow = true }]\n"))
	if p, err := c.Policy("s", ""); err != nil || len(p.Fs) != 1 || p.Fs[0].Label() != `f:3: workspace = "read"` {
		t.Errorf("%v, %v", p, err)
	}
}
