//go:build !unix

package lifecycle

import "os"

// endSignals end a session.
func endSignals() []os.Signal { return []os.Signal{os.Interrupt} }

// pipeSignals: a write to a closed pipe is only an error here.
func pipeSignals() []os.Signal { return nil }
