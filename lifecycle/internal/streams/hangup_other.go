//go:build !linux && !darwin && !freebsd

package streams

import "os"

// WatchHangup watches nothing: on these systems the standard library cannot tell whether the other
// end is closed.
func WatchHangup(_, _ *os.File) (gone <-chan struct{}, stop func()) { return nil, func() {} }
