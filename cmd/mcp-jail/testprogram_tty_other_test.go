//go:build !linux

package main

import (
	"fmt"
	"os"
)

// ttyMain exists on Linux only; scripts check [linux] first.
func ttyMain() {
	fmt.Fprintln(os.Stderr, "tty: not on this system")
	os.Exit(99)
}
