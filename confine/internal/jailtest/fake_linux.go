//go:build seatbelt

package jailtest

import "github.com/mcp-jail/mcp-jail/confine/internal/sandboxexec/sandboxexectest"

// Seatbelt reports whether jails start by the code for macOS, with a program that stands for
// sandbox-exec and confines nothing.
const Seatbelt = true

// fake is what stands for sandbox-exec, if this process was started as that.
func fake() { sandboxexectest.Main() }

// enclose keeps what the tests start from every other process of the machine.
func enclose() { sandboxexectest.Enclose() }
