//go:build !unix

package cmdline

// ClearOwnerUmask returns nil: this system has no umask.
func ClearOwnerUmask() *int { return nil }
