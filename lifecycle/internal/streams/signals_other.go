//go:build !unix

package streams

import "os"

func endSignals() []os.Signal { return []os.Signal{os.Interrupt} }

// pipeSignals returns nothing: a write to a closed pipe is only an error here.
func pipeSignals() []os.Signal { return nil }
