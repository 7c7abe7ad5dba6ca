//go:build unix

package session

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// ownSession makes a program the leader of a new session. Signals that a client or a terminal
// sends to the process group of mcp-jail do not reach it.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func mayWrite(path string) bool { return unix.Access(path, unix.W_OK) == nil }

func mayRead(path string) bool { return unix.Access(path, unix.R_OK) == nil }

func mayExecute(path string) bool { return unix.Access(path, unix.X_OK) == nil }
