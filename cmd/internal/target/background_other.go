//go:build !unix

package target

import "syscall"

// ownSession does nothing here.
func ownSession() *syscall.SysProcAttr { return nil }
