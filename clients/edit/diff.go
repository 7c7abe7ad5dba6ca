package edit

import "github.com/mcp-jail/mcp-jail/internal/diff"

// Diff returns the unified diff of two versions of a file, or "" if they are equal. context is
// the number of equal lines around each change. The lines may hold secrets of the file, and are not
// safe for a terminal.
func Diff(name string, before, after []byte, context int) string {
	return diff.Format{Context: context}.Unified(name, before, after)
}
