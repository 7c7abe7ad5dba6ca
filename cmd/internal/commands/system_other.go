//go:build !linux

package commands

func othersWrite(string) bool { return false }

func mayWrite(string) error { return nil }

func freeBytes(string) int64 { return -1 }
