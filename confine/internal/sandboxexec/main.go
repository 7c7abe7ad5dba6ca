//go:build darwin || linux

package sandboxexec

import (
	"os"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
)

// InsideName is the first argument of the program that becomes the server inside. It is not argv[0],
// which sandbox-exec chooses.
const InsideName = "mcp-jail: inside"

// Main does the work of a supervisor, or of the program inside, and does not return then. It returns
// at once if this process was started as something else.
func Main() {
	switch {
	case len(os.Args) > 0 && os.Args[0] == spec.SupervisorName:
		supervise()
	case len(os.Args) > 1 && os.Args[1] == InsideName:
		inside()
	}
}
