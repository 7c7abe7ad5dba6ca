package session

import (
	"fmt"
	"os"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine"
)

// ExitText describes an exit in a message.
func ExitText(e confine.Exit) string {
	if e.Signal != 0 {
		return "signal " + e.Signal.String()
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// Exit statuses for a session whose server gives none (docs/reference.md, "Exit
// statuses").
const (
	StatusFailed = 1 // the server failed
	statusJail   = 3 // no jail could be built that enforces the policy
)

// EndedBy returns the exit of a session that a signal has ended, with the status that a
// shell gives it.
func EndedBy(s os.Signal) confine.Exit {
	if n, ok := s.(syscall.Signal); ok {
		return confine.Exit{Code: 128 + int(n), Signal: n}
	}
	return confine.Exit{Code: StatusFailed}
}
