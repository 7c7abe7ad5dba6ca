//go:build !unix

package main

import "os"

const noFollow = 0 // this system has no such flag

// writeNow writes a line whole.
func writeNow(f *os.File, line []byte) bool {
	n, err := f.Write(line)
	return err == nil && n == len(line)
}
