//go:build !linux

package lifecycle

import "os"

// widen does nothing here: pipes have the size that they have.
func widen(*os.File) {}
