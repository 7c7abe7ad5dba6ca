//go:build !linux && !darwin && !freebsd

package streams

import (
	"os"
	"time"
)

// PeerClosed always returns false: on these systems the standard library cannot tell whether the
// other end is closed.
func PeerClosed(*os.File) bool { return false }

// Readable always returns false.
func Readable(*os.File) bool { return false }

// UnreadBytes always returns 0, so that everything counts as read.
func UnreadBytes(*os.File) int { return 0 }

func waitReady(*os.File, bool) { time.Sleep(10 * time.Millisecond) }
