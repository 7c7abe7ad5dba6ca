//go:build !windows

package testkit

func isWine() bool { return false }
