package grants

import (
	"strings"
	"unicode/utf8"
)

// Writable reports whether s can be written in a configuration.
func Writable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// Expressible reports whether a rule can name a path: policy refuses line breaks and
// globs.
func Expressible(path string) bool {
	return Writable(path) && len(path) < 4096 && !strings.ContainsAny(path, "\r\n") &&
		!strings.Contains(path, "**") && !strings.HasSuffix(path, "/*")
}
