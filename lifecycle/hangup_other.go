//go:build !linux

package lifecycle

import "os"

// watchHangup cannot tell here without a dependency.
func watchHangup(_, _ *os.File) (gone <-chan struct{}, stop func()) { return nil, func() {} }
