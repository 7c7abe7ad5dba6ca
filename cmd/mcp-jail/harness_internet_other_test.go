//go:build !linux

package main

func withoutNamespacesMain() {}

// extraPrograms are the programs besides mcp-jail that the test binary is: see
// harness_internet_linux_test.go.
var extraPrograms map[string]func()
