package diagnostics

import (
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/paths"
)

// Tildes returns a warning about arguments that begin with "~/", or "". No shell replaces that, and
// mcp-jail does not either.
func Tildes(ev Evidence) string {
	if ev.Profile == nil || len(ev.Profile.Argv) < 2 || ev.UserHome == "" {
		return ""
	}
	a := newCase(&ev)
	args := paths.TildeArguments(a)
	if args == nil {
		return ""
	}
	return paths.TildeText(a, args) + "; " + paths.TildeFix(a, args) + PagePathArg.Reference()
}
