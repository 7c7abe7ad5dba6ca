//go:build !seatbelt

package jailtest

// Seatbelt reports whether jails start by the code for macOS, with a program that stands for
// sandbox-exec and confines nothing.
const Seatbelt = false

func fake() {}

func enclose() {}
