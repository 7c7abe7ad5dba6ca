//go:build !linux

package policy

func kernelPlaces() []string { return nil }
