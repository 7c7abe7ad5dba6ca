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

func withoutPtraceMain() { os.Exit(1) }

func withoutNamespacesMain() {}

// extraPrograms are the programs besides mcp-jail that the test binary is: see
// harness_internet_linux_test.go.
var extraPrograms map[string]func()
