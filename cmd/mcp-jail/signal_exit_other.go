//go:build !linux

package main

import "syscall"

// exitBySignal does nothing where no server can be started yet.
func exitBySignal(syscall.Signal) {}
