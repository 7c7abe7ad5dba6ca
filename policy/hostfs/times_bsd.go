//go:build unix && !linux

package hostfs

import (
	"syscall"
	"time"
)

// birth returns when an object was made, in nanoseconds since 1970.
func birth(st *syscall.Stat_t) int64 { return st.Birthtimespec.Nano() }

func changeTime(st *syscall.Stat_t) time.Time { return time.Unix(st.Ctimespec.Unix()) }
