//go:build !linux

package hostfs

func pseudoMounts() []string { return nil }
