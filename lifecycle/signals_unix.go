//go:build unix

package lifecycle

import (
	"os"
	"syscall"
)

// endSignals end a session (package comment, "A stateful server").
func endSignals() []os.Signal {
	return []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP}
}

// pipeSignals are taken so that a write to a client that has gone is an error
// and not our death. They are not ignored: the server would inherit that.
func pipeSignals() []os.Signal { return []os.Signal{syscall.SIGPIPE} }
