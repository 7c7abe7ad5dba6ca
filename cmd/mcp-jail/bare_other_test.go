//go:build !linux

package main

func withoutNamespacesMain() {}

// besides are what the test binary is under other names: see internet_linux_test.go.
var besides map[string]func()
