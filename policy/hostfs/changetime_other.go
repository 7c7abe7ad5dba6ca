//go:build !unix

package hostfs

import (
	"os"
	"time"
)

// ChangeTime returns when a file was changed last.
func ChangeTime(info os.FileInfo) time.Time { return info.ModTime() }
