package grantcmd

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestToolForAll tests that a failure of a tool which its server calls "*" leads to no rules of all tools.
func TestToolForAll(t *testing.T) {
	e := &Edit{server: &server{}, word: "n", was: map[string]*checked{"": {target: &session.Target{Policy: &policy.Policy{}}}}}
	for tool, refused := range map[string]bool{"look": false, "*": true, "**": false} {
		g := &grantCmd{}
		_, err := g.ofTool(e, diagnostics.Record{Diagnoses: []diagnostics.Diagnosis{{Tool: tool}}})
		if refused != (err != nil) || refused && !strings.Contains(err.Error(), "mcp-jail grant --tool '*' n --read PATH") {
			t.Errorf("%s: %v", tool, err)
		}
	}
	if harm, err := e.Judge("*", change.Path("/x", policy.Read)); err != nil || harm.Never == "" {
		t.Errorf("learn: %+v, %v", harm, err)
	}
}
