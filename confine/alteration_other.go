//go:build !linux

package confine

// alteration is for tests of jails, which there are none of.
type alteration struct{}
