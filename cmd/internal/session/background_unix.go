//go:build unix

package session

import "syscall"

// ownSession makes a program the leader of a new session. Signals that a client or a terminal
// sends to the process group of mcp-jail do not reach it.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
