//go:build unix

package hostfs

import (
	"os"
	"syscall"
	"time"
)

// ChangeTime returns when a file or its attributes were changed last. No program can set it.
func ChangeTime(info os.FileInfo) time.Time {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return changeTime(s)
	}
	return info.ModTime()
}
