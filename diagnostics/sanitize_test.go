package diagnostics

import "testing"

// TestSanitize holds the escape sequences of ECMA-48 in both of their forms: ESC with
// a letter, and one control character of U+0080 to U+009F.
func TestSanitize(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                           "plain",
		"\x1b[31mred\x1b[0m":              "red",
		"\u009b31mred\u009b0m":            "red",
		"\x1b]0;title\x07text":            "text",
		"\u009d0;title\x07text":           "text",
		"\u009d0;title\x1b\\text":         "text",
		"\u009d8;;https://x.example\x07a": "a",
		"\u009d0;title without an end":    "",
		"\x1bP1;2|data\x1b\\text":         "text",
		"\x1b(Btext":                      "text",
		"a\u0085b\u202ec\xffd":            "a\ufffdb\ufffdc\ufffdd",
		"a\tb\u00a0c":                     "a b c",
		"[mcp-jail] x":                    "(mcp-jail] x",
	} {
		if got := sanitize(text); got != want {
			t.Errorf("sanitize(%q) = %q, want %q", text, got, want)
		}
	}
}
