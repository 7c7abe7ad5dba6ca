//go:build !linux

package lifecycle

import (
	"os"
	"time"
)

// hungUp cannot be told here without a dependency.
func hungUp(*os.File) bool { return false }

// readable cannot be told either.
func readable(*os.File) bool { return false }

// unread cannot be told either: everything counts as read.
func unread(*os.File) int { return 0 }

// awaitReady waits a moment: who asks tries again.
func awaitReady(*os.File, bool) { time.Sleep(10 * time.Millisecond) }
