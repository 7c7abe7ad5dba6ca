//go:build !linux

package hostfs

func kernelPlaces() []string { return nil }
