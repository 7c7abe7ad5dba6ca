package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// offOf returns which of the tools a, b and c are off, and where that is said.
func offOf(s policy.Switches) (text string) {
	for _, tool := range []string{"a", "b", "c"} {
		if by, off := s.Off(tool); off {
			text += fmt.Sprintf("%s %s ", tool, by.Where[strings.LastIndexByte(by.Where, '/')+1:])
		}
	}
	return strings.TrimSpace(text)
}

// TestSwitches checks which tools are off: a later file of the user decides, and a project's file only switches off.
func TestSwitches(t *testing.T) {
	for _, c := range []struct{ user, project, want string }{
		{"tools.a.allow = false", "", "a user.toml:3"},
		{"tools.a.allow = false", "tools.a.allow = true", "a user.toml:3"},
		{"tools.a.allow = true", "tools.a.allow = false", "a .mcp-jail.toml:2"},
		{"tools.'*'.allow = false\ntools.a.allow = true", "tools.b.allow = true", "b user.toml:3 c user.toml:3"},
		{"tools.'*'.allow = false\ntools.a.allow = true", "tools.A.allow = false", "a .mcp-jail.toml:2 b user.toml:3 c user.toml:3"},
		{"tools.c.allow = false", "command = 'y'\ntools.'*'.allow = true\ntools.c.allow = true", "c user.toml:3"},
	} {
		for _, mode := range []string{"true", "false"} {
			_, p := mergedWith(t, "[servers.s]\ncommand = 'x'\n"+c.user+"\nstateful = "+mode, "[servers.s]\n"+c.project+"\n")
			if got := offOf(p.Tools); got != c.want {
				t.Errorf("%q, %q: off are %q, want %q", c.user, c.project, got, c.want)
			}
		}
	}
}

// TestSwitchKeepsAccess checks that a table with allow alone keeps what the table for all tools gives.
func TestSwitchKeepsAccess(t *testing.T) {
	c, err := Decode([]byte("[servers.s]\ncommand = 'x'\nstateful = false\n[servers.s.tools.'*'.access]\nfs = [{ path = '~/notes', read = true }]\n[servers.s.tools.a]\nallow = true\n"), "f")
	testkit.Must(t, err)
	p, err := c.Policy("s", "a")
	testkit.Must(t, err)
	if got := strings.Join(granted(p), " "); !strings.Contains(got, "~/notes") {
		t.Errorf("a is granted %s", got)
	}
	again, err := Decode(c.Encode(), "f")
	testkit.Must(t, err)
	if tool := again.Servers["s"].Tools["a"]; tool == nil || tool.Allow == nil || !*tool.Allow || tool.Access != nil {
		t.Errorf("written is\n%s", c.Encode())
	}
}
