package toolpin

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestCanonical: RFC 8785, and what it leaves open.
func TestCanonical(t *testing.T) {
	for _, row := range testkit.Rows(t, "canonical.txt", 2) {
		in, want := row[0], row[1]
		testkit.Equal(t, in, string(testkit.Get(canonical([]byte(in)))(t)), want)
	}
}

// TestCanonicalRefuses: text that is not JSON, or that programs read differently.
func TestCanonicalRefuses(t *testing.T) {
	for in, want := range map[string]string{
		``: "ends early", `{`: "ends early", `{"a":1,}`: "invalid character", `[1,]`: "invalid character", `[1 2]`: "after array element",
		`{"a" 1}`: "after object name", `{a:1}`: "byte 1: invalid character 'a'", `nul`: "ends early", `1 2`: "after top-level value",
		"\ufeff1": "invalid character", `01`: "invalid character '1'", `-`: "ends early", `1.`: "ends early", `.5`: "invalid character",
		`1e`: "ends early", `+1`: "invalid character", `NaN`: "invalid character", `1e400`: "the number 1e400 is beyond the range",
		`{"a":[-1e999]}`: "beyond the range", `"a`: "ends early", `"\`: "ends early", `"\x"`: "escape", `"\u12"`: "escape", `"\u12g4"`: "escape",
		"\"\n\"": "invalid character", "\"\xff\"": "UTF-8", "\"\xed\xa0\x80\"": "UTF-8", "\"\\\xc3\xa9\"": "escape",
		`{"a":1,"a":2}`: "the member a is there twice", `{"a":1,"\u0061":1}`: "twice", `{"x":{"b":1,"a":1,"b":1}}`: "the member b",
		`{"\ud800":1}`: "surrogate", `"\uD83D x"`: "surrogate", `"\ude00\ud83d"`: "surrogate", `"\ud83d\ud83d\ude00"`: "surrogate", `"\ud83d\\ude00"`: "surrogate",
		strings.Repeat("[", 65) + strings.Repeat("]", 65): "nested more than 64 deep", strings.Repeat(`{"a":`, 1_000_000): "nested",
	} {
		got, err := canonical([]byte(in))
		testkit.Fails(t, fmt.Sprintf("%.40q: %s", in, got), err, want)
	}
	testkit.Works(t, "", testkit.ErrorOf(canonical([]byte(strings.Repeat("[", 64)+strings.Repeat("]", 64)))))
}
