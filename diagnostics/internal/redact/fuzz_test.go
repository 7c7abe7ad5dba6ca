package redact

import (
	"strings"
	"testing"
)

// FuzzTail checks that a Tail does not depend on how a text is split into writes.
func FuzzTail(f *testing.F) {
	f.Add("x"+token+"\r\ny", 3)
	f.Add(token[:9]+token, 9)
	f.Fuzz(func(t *testing.T, text string, at int) {
		if at < 0 || at > len(text) {
			return
		}
		r := tokenRedactor()
		one, two := NewTail(r), NewTail(r)
		one.Write([]byte(text))
		two.Write([]byte(text[:at]))
		two.Write([]byte(text[at:]))
		if a, b := strings.Join(one.Lines(-1), "\n"), strings.Join(two.Lines(-1), "\n"); a != b {
			t.Fatalf("cut at %d: %q, else %q", at, b, a)
		}
	})
}
