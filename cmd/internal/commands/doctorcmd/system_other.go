//go:build !linux

package doctorcmd

func othersWrite(string) bool { return false }

func mayWrite(string) error { return nil }

func freeBytes(string) int64 { return -1 }
