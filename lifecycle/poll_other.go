//go:build !linux

package lifecycle

import (
	"os"
	"time"
)

// peerClosed cannot be told here without a dependency.
func peerClosed(*os.File) bool { return false }

// readable cannot be told either.
func readable(*os.File) bool { return false }

// unreadBytes cannot be told either: everything counts as read.
func unreadBytes(*os.File) int { return 0 }

// waitReady waits a moment: who asks tries again.
func waitReady(*os.File, bool) { time.Sleep(10 * time.Millisecond) }
