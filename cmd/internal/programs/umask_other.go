//go:build !unix

package programs

// ClearOwnerUmask returns nil: this system has no umask.
func ClearOwnerUmask() *int { return nil }
