//go:build !linux

package main

import "os"

func withoutPtraceMain() { os.Exit(1) }
