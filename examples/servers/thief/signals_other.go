//go:build !unix

package main

import "syscall"

func unixThefts() []theft            { return nil }
func lingerOn([]string)              {}
func errnoName(syscall.Errno) string { return "" }
