//go:build !linux || !amd64

package mcpproxy

const hasBlocks = false

func textBlocks([]byte) int { return 0 }

func markBlocks(_, _ *uint64, _ *byte, _ int) {}
