package session

import (
	"os"
	"os/exec"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/resolve"

	"github.com/mcp-jail/mcp-jail/internal/lazy"
)

// execFailure returns the diagnosis of a program that cannot be started. If the error has no fix
// of its own, and isTyped says that the program is named after --, the fix says so.
func execFailure(server string, e *resolve.CommandError, isTyped bool) diagnostics.Diagnosis {
	fix := e.Fix
	if fix == "" && isTyped {
		fix = "install the program, or correct its name behind `--`"
	}
	bare := *e
	bare.Fix = ""
	return diagnostics.ExecFailure(server, bare.Error(), fix)
}

// plainName matches the names of programs that are suggested. The user may copy them.
var plainName = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9._+-]*$`)

func suggestProgram(e *resolve.CommandError) {
	if len(e.Path) == 0 || e.Fix != "" {
		return
	}
	var names []string
	for _, dir := range e.Path {
		entries, _ := os.ReadDir(dir)
		for _, f := range entries {
			if plainName().MatchString(f.Name()) {
				names = append(names, f.Name())
			}
		}
	}
	if near := config.SuggestProgram(e.Command, names); near != "" && near != e.Command {
		if _, err := exec.LookPath(near); err == nil {
			e.Fix = "did you mean " + near + "?"
		}
	}
}
