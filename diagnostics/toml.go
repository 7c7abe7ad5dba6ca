package diagnostics

import (
	"strings"
	"unicode/utf8"
)

// writable reports whether s can be written in a configuration.
func writable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// expressible reports whether a rule can name a path: policy refuses line breaks and
// globs.
func expressible(path string) bool {
	return writable(path) && len(path) < 4096 && !strings.ContainsAny(path, "\r\n") &&
		!strings.Contains(path, "**") && !strings.HasSuffix(path, "/*")
}
