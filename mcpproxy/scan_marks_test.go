package mcpproxy

import (
	"math/rand/v2"
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

// TestEscapedBytes compares rows of backslashes with a look at each byte.
func TestEscapedBytes(t *testing.T) {
	for range 100_000 {
		slashes, first := rand.Uint64()|rand.Uint64(), rand.Uint64()&1
		if rand.N(2) == 0 {
			slashes &= rand.Uint64() & rand.Uint64()
		}
		var want uint64
		escaped := first
		for i := range blockSize {
			want |= escaped << i
			escaped = slashes >> i & 1 &^ escaped
		}
		if got, next := escapedBytes(slashes, first); got != want || next != escaped {
			t.Fatalf("%x, first %d: %x and %d, not %x and %d", slashes, first, got, next, want, escaped)
		}
	}
}
