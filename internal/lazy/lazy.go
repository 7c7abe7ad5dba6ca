// Package lazy makes values at their first use, which a start of mcp-jail then does not pay for.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp returns a function that compiles expr once, when it is first called.
func Regexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
