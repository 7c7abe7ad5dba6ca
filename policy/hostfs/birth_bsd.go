//go:build darwin || freebsd

package hostfs

import "syscall"

// birth returns when an object was made, in nanoseconds since 1970.
func birth(st *syscall.Stat_t) int64 { return st.Birthtimespec.Nano() }
