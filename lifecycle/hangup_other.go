//go:build !linux

package lifecycle

import "os"

// watchHangup watches nothing: on these systems the standard library cannot tell whether the other
// end is closed.
func watchHangup(_, _ *os.File) (gone <-chan struct{}, stop func()) { return nil, func() {} }
