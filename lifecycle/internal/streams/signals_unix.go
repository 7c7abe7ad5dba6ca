//go:build unix

package streams

import (
	"os"
	"syscall"
)

func endSignals() []os.Signal {
	return []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP}
}

// pipeSignals returns SIGPIPE. It is caught, so that a write to a client that has left is
// an error and does not end us. It is not ignored, since the server would inherit that.
func pipeSignals() []os.Signal { return []os.Signal{syscall.SIGPIPE} }
