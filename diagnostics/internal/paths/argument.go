package paths

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/policy"
)

// ArgumentPath returns the path that an argument, or the value of a flag, names, if it
// exists on the host and the server may not read it. It returns "" for any other argument.
func ArgumentPath(c *facts.Case, arg string) string {
	if strings.HasPrefix(arg, "-") {
		_, arg, _ = strings.Cut(arg, "=")
	}
	if !strings.ContainsAny(arg, "/.~") { // no path
		return ""
	}
	path, ok := c.Absolute(arg)
	if !ok || c.Exists(path) != facts.Present {
		return ""
	}
	path = c.Canonical(path)
	switch place, _ := c.JailPlace(path); {
	case (place == "/tmp" || place == "/dev/shm") && path != place: // the jail has a directory of its own there
		return path
	case place != "" || policy.Within(path, "/proc") || c.Allows(policy.OpRead, path):
		return ""
	}
	return path
}
