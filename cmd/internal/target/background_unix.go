//go:build unix

package target

import "syscall"

// ownSession makes a program the leader of a new session: what a client or terminal sends to
// the process group of mcp-jail does not reach it.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
