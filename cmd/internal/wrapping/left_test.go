package wrapping

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/clients"
)

// TestVariablesFromFile: an entry is left if its file has a variable that acts on mcp-jail.
func TestVariablesFromFile(t *testing.T) {
	h := newHost(t)
	write(t, filepath.Join(h.Project, ".vscode/mcp.json"), `{"servers": {"a": {"command": "x", "envFile": "${workspaceFolder}/.env"}}}`)
	for text, left := range map[string]string{"TOKEN=x\n": "", "TOKEN=x\nLD_PRELOAD=y\n": string(Environment), "npm_config_registry=y\n": string(Environment),
		"OPENSSL_CONF=y": string(Environment), "A=1\rXDG_CONFIG_HOME=y": string(Environment), "XDG_CONFIG_HOME: y": string(Environment),
		"export\tXDG_CONFIG_HOME=y": string(Environment), "\ufeffXDG_CONFIG_HOME=y": string(Environment), "XDG_CONFIG_HOME=y\n#-----BEGIN": string(Environment),
	} {
		write(t, filepath.Join(h.Project, ".env"), text)
		if p := only(t, h, Selection{}).Wrap(Program{Path: program}, Selection{}, h, NewNames(nil, nil)).Servers[0]; p.Left != left {
			t.Errorf("%q: left %q, want %q", text, p.Left, left)
		}
	}
}

// TestUnreadVariables: an entry of a project's file is left if there is a file of variables that
// cannot be read. One that is missing can hold nothing.
func TestUnreadVariables(t *testing.T) {
	h := newHost(t)
	write(t, filepath.Join(h.Project, ".vscode/mcp.json"), `{"servers": {"a": {"command": "x", "envFile": "${workspaceFolder}/.env"}}}`)
	left := func() string {
		t.Helper()
		return only(t, h, Selection{}).Wrap(Program{Path: program}, Selection{}, h, NewNames(nil, nil)).Servers[0].Left
	}
	if got := left(); got != "" {
		t.Errorf("missing: %q", got)
	}
	must(t, os.Mkdir(filepath.Join(h.Project, ".env"), 0o700))
	if got := left(); !strings.Contains(got, "the names are not known") {
		t.Errorf("unread: %q", got)
	}
}

// TestSwitchedOff tests that a server is left that another part of a client's file switches off.
func TestSwitchedOff(t *testing.T) {
	for _, c := range []struct{ lists, a, b string }{
		{`"mcp":{}`, "", ""},
		{`"mcp":{"excluded":["a"]}`, "mcp.excluded names it", ""},
		{`"mcp":{"allowed":["a"]}`, "", "mcp.allowed does not name it"},
		{`"mcp":{"allowed":["a","b"],"excluded":["b"]}`, "", "mcp.excluded names it"},
	} {
		h := newHost(t)
		write(t, filepath.Join(h.Home, ".gemini", "settings.json"), `{"mcpServers":{"a":{"command":"x"},"b":{"command":"y"}},`+c.lists+`}`)
		var got []string
		for _, e := range only(t, h, Selection{Clients: []string{"gemini"}}).Entries {
			if e.Left != "" && e.Left != clients.Disabled {
				t.Errorf("%s: %s", c.lists, e.Left)
			}
			got = append(got, e.Detail)
		}
		if !slices.Equal(got, []string{c.a, c.b}) {
			t.Errorf("%s: %q", c.lists, got)
		}
	}
}

// TestTooManyServers: a file with more servers than a person has is left, and named.
func TestTooManyServers(t *testing.T) {
	for n, want := range map[int]string{maxServers: "", maxServers + 1: ".mcp.json: the file has 2001 servers or more, and mcp-jail reads files with at most 2000"} {
		h := newHost(t)
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `, "s%d": {"command": "x"}`, i)
		}
		write(t, filepath.Join(h.Project, ".mcp.json"), `{"mcpServers": {`+b.String()[2:]+`}}`)
		files, err := Find(h, Selection{})
		must(t, err)
		if len(files) != 1 || (files[0].Err == nil) != (want == "") || want != "" && !strings.HasSuffix(files[0].Err.Error(), want) || want == "" && len(files[0].Entries) != n {
			t.Errorf("%d servers: %d files, %v", n, len(files), files[0].Err)
		}
	}
}
