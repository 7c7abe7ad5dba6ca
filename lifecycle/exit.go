package lifecycle

import (
	"fmt"
	"os"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine"
)

func exitText(e confine.Exit) string {
	if e.Signal != 0 {
		return "signal " + e.Signal.String()
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// Exit statuses for a server that has none of its own (docs/reference.md "Exit statuses").
const (
	statusFailed = 1 // the server failed
	statusJail   = 3 // no jail here that holds the policy
)

// endedBy is the end of a session that a signal has ended. The status is what a shell
// makes of one.
func endedBy(s os.Signal) confine.Exit {
	if n, ok := s.(syscall.Signal); ok {
		return confine.Exit{Code: 128 + int(n), Signal: n}
	}
	return confine.Exit{Code: statusFailed}
}
