//go:build !linux

package hostfs

func isUnmapped(int) bool { return false }

func isMapped(int) bool { return true }
