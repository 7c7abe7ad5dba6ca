package journal

import (
	"bytes"
	"fmt"

	"github.com/mcp-jail/mcp-jail/internal/diff"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// Diff returns the difference of two texts in the unified format, or "" if there is none.
func Diff(path string, before, after []byte) string {
	path = show.Name(path) // the server chose the path: it must not look like lines of the difference
	if !bytes.Equal(before, after) && (bytes.IndexByte(before, 0) >= 0 || bytes.IndexByte(after, 0) >= 0) {
		return fmt.Sprintf("--- %s\n+++ %s\n(%d and %d bytes that are no text)\n", path, path, len(before), len(after))
	}
	return diff.Format{Context: 3, Counts: true}.Unified(path, before, after)
}
