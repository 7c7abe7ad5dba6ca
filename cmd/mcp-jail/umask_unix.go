//go:build unix

package main

import "syscall"

// clearOwnerUmask sees to it that this program can use the files and directories that it
// makes: a umask that takes rights from the owner takes them no more. It returns the one
// that the client gave, for its server; nil where nothing was to be done.
func clearOwnerUmask() *int {
	const owner = 0o700
	umask := syscall.Umask(0o077) // there is no way to ask alone
	syscall.Umask(umask &^ owner)
	if umask&owner == 0 {
		return nil
	}
	return &umask
}
