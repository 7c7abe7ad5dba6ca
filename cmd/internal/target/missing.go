package target

import (
	"os"
	"os/exec"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// execFailure returns the diagnosis of a program that cannot be started. The fix names where the
// program is written.
func (t *Target) execFailure(server, message string, e *resolve.CommandError) diagnostics.Diagnosis {
	d := diagnostics.ExecFailure(server, strings.TrimSuffix(message, "; "+e.Fix))
	switch {
	case e.Fix != "":
		d.Fix = e.Fix
	case t != nil && t.Policy != nil && t.Policy.FromCommandLine:
		d.Fix = "install the program, or correct its name behind `--`"
	}
	return d
}

// suggestProgram adds a program of PATH with a name like that of a missing one.
func suggestProgram(e *resolve.CommandError) {
	if len(e.Path) == 0 || e.Fix != "" {
		return
	}
	var names []string
	for _, dir := range e.Path {
		entries, _ := os.ReadDir(dir)
		for _, f := range entries {
			names = append(names, f.Name())
		}
	}
	if near := config.SuggestProgram(e.Command, names); near != "" && near != e.Command {
		if _, err := exec.LookPath(near); err == nil {
			e.Fix = "did you mean " + near + "?"
		}
	}
}
