//go:build !linux

package doctorcmd

// fileSystemOf returns false: only Linux is asked about file systems.
func fileSystemOf(string) (free int64, noexec, ok bool) { return 0, false, false }

func othersWrite(string) bool { return false }

func mayWrite(string) error { return nil }
