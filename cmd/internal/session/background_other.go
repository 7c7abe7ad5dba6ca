//go:build !unix

package session

import "syscall"

// ownSession returns nil: only Unix has such sessions.
func ownSession() *syscall.SysProcAttr { return nil }

func mayWrite(string) bool { return true }

func mayRead(string) bool { return true }

func mayExecute(string) bool { return true }
