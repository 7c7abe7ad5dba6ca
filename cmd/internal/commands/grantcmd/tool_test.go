package grantcmd

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// TestToolForAll tests that a failure of a tool which its server calls "*" leads to no rules of all tools.
func TestToolForAll(t *testing.T) {
	b := &base{server: &server{word: "n"}, was: &version{policies: map[string]*checked{"": {target: &session.Target{Policy: &policy.Policy{}}}}}}
	for tool, refused := range map[string]bool{"look": false, "*": true, "**": false} {
		g := &grantCmd{}
		_, err := g.ofTool(b, diagnostics.Record{Diagnoses: []diagnostics.Diagnosis{{Tool: tool}}})
		if refused != (err != nil) || refused && !strings.Contains(err.Error(), "mcp-jail grant --tool '*' n --read PATH") {
			t.Errorf("%s: %v", tool, err)
		}
	}
}

// TestFileName: the name of a server's file is known from its key alone, and never that of another server's file.
func TestFileName(t *testing.T) {
	for other, refused := range map[string]bool{"s-4k7q2m9y": false, "s-4k7q2m9x": true} {
		x := &index.Index{Servers: []*index.Server{{File: &config.ServerFile{Server: &config.Server{Name: other}}}}}
		if name, err := fileName(x, &index.Server{}, "s-4k7q2m9x3vt5"); refused != (err != nil) || !refused && name != "s-4k7q2m9x" {
			t.Errorf("beside %s: %s, %v", other, name, err)
		}
		if name, err := fileName(x, x.Servers[0], "s-4k7q2m9x3vt5"); name != other || err != nil {
			t.Errorf("of a server with a file: %s, %v", name, err)
		}
	}
}
