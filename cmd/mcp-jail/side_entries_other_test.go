//go:build !linux

package main

func withoutNamespacesMain() {}

// sideEntries are what the test binary is under other names: see internet_linux_test.go.
var sideEntries map[string]func()
