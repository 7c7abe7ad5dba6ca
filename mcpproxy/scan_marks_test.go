package mcpproxy

import (
	"strings"
	"testing"
)

// TestWindows puts what ends or breaks a string around the end of a window of marks, and of its blocks.
func TestWindows(t *testing.T) {
	const window = 64 * blockSize
	var c comparison
	for _, before := range []string{"a", `\n`, `\\`} {
		for _, here := range []string{`"`, `\`, `\\`, `\\\`, `\\\\`, `\"`, `\n`, `\x`, `\u00e9`, "\n", "é", "\xe9", `","b":"`} {
			for n := window - 4; n < window+4; n++ {
				text := strings.Repeat(before, n/len(before)) + strings.Repeat("c", n%len(before)) + here
				for _, after := range []string{"", "d", strings.Repeat("d", 2*blockSize) + `\t`} {
					c.compare(t, `{"id":"`+text+after+`","method":"`+after+`m"}`)
				}
			}
		}
	}
}
