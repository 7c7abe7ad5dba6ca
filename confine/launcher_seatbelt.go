//go:build darwin || (linux && seatbelt)

package confine

import (
	"github.com/mcp-jail/mcp-jail/confine/internal/attempt"
	"github.com/mcp-jail/mcp-jail/confine/internal/sandboxexec"
)

// RunSupervisor does the work of a jail's supervisor, or of the first program inside, and never
// returns if this process was started as one. Otherwise it returns at once. Call it first thing in
// main.
func RunSupervisor() {
	attempt.Serve() // the self-test
	sandboxexec.Main()
}
