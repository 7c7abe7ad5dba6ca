//go:build !linux

package main

import (
	"fmt"
	"os"
)

// ttyMain is made for Linux's terminals; scripts ask for [linux] first.
func ttyMain() {
	fmt.Fprintln(os.Stderr, "tty: not on this system")
	os.Exit(99)
}
