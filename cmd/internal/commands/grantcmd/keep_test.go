package grantcmd

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/granting/table"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestKeepsAnywhere: the rule that keeps the workspace grants all of a home directory in which a client
// starts the server. This is said, and --last --yes does not write it.
func TestKeepsAnywhere(t *testing.T) {
	for name, c := range map[string]struct {
		project             bool
		dir, workspace      string
		last, yes           bool
		isWarned, isRefused bool
	}{
		"where a client starts it": {isWarned: true},
		"by hand, with --yes":      {yes: true, isWarned: true},
		"--last, asked":            {last: true, isWarned: true},
		"--last --yes":             {last: true, yes: true, isRefused: true},
		"its workspace is named":   {workspace: "~/work", last: true, yes: true},
		"its directory is known":   {dir: "/work", last: true, yes: true},
		"a project's":              {project: true, last: true, yes: true},
	} {
		p := &plan{place: place{table: &table.Place{Project: c.project}, dir: c.dir}, was: &policy.Policy{Workspace: c.workspace}}
		g := &grantCmd{last: c.last, yes: c.yes}
		err := g.keepsAnywhere(p)
		if isWarned := strings.Contains(strings.Join(p.lines, "\n"), "warning"); (err != nil) != c.isRefused || isWarned != c.isWarned {
			t.Errorf("%s: %v, %q", name, err, p.lines)
		}
	}
}
