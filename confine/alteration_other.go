//go:build !linux

package confine

// testHooks is for tests of jails, which there are none of.
type testHooks struct{}
