//go:build linux

package mcpproxy

import "golang.org/x/sys/cpu"

// hasBlocks reports whether the processor can run textBlocks and markBlocks. Scans without them have the
// same results.
var hasBlocks = cpu.X86.HasAVX2

// textBlocks returns how many bytes are in the blocks at the start of b that are ASCII without control
// characters. A block has 64 bytes.
//
//go:noescape
func textBlocks(b []byte) int

// markBlocks looks at the n blocks from b on, which are at least one. It sets a word of each array for
// each block, and in it a bit for each byte, the lowest for the first. stops gets the quotes and the
// control characters, slashes the backslashes.
//
//go:noescape
func markBlocks(stops, slashes *uint64, b *byte, n int)
