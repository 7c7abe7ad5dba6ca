//go:build !linux

package jail

// testHooks is for tests of jails, which there are none of.
type TestHooks struct{}
