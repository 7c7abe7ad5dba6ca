//go:build !linux

package lifecycle

import "os"

// watchHangup watches nothing: without a dependency there is no way to tell.
func watchHangup(_, _ *os.File) (gone <-chan struct{}, stop func()) { return nil, func() {} }
