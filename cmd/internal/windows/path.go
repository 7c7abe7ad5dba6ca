package windows

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/lazy"
)

// anyPath matches a path of Windows at the start of a word or of a value in it.
var anyPath = lazy.Regexp(`(?i)(?:^|[=,;"'])(?:[a-z]:[\\/]|\\\\)`)

// hasPath reports whether a word is a path of Windows, or has one as its value.
func hasPath(word string) bool { return anyPath().MatchString(word) }

// isOfWindows reports whether the name of a program is one of Windows.
func isOfWindows(name string) bool {
	ending := strings.ToLower(filepath.Ext(name))
	return strings.Contains(name, `\`) || hasPath(name) || slices.Contains([]string{".exe", ".cmd", ".bat", ".ps1"}, ending) || strings.EqualFold(name, "cmd")
}
