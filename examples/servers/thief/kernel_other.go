//go:build !linux

package main

// kernelThefts returns nothing: these thefts exist on Linux only.
func kernelThefts() []theft { return nil }
