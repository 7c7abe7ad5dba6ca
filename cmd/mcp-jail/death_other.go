//go:build !linux

package main

import "syscall"

// dieOf does nothing where no server can be started yet.
func dieOf(syscall.Signal) {}
