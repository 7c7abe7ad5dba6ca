//go:build !linux

package jail

// TestHooks is empty where jails cannot be built.
type TestHooks struct{}
