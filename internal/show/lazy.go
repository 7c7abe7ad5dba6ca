package show

import (
	"regexp"
	"sync"
)

// Pattern returns a function that compiles expr once, when it is first called.
func Pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
