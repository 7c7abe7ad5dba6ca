package mcpproxy

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestLongStrings puts what ends or breaks a string at each place of long ones, with and without
// escapes and characters beyond ASCII before it, and compares with encoding/json.
func TestLongStrings(t *testing.T) {
	const most = 20
	var c comparison
	for _, before := range []string{"a", `a\n`, "é", `\"`, strings.Repeat("b", 16) + `\\`, strings.Repeat("b", 7) + `\"`} {
		for _, here := range []string{"", `"`, `\`, `\\`, `\"`, `\n`, `\x`, `\u00e9`, `\u00eg`, "\x00", "\x1f", "\x7f", "\x80", "é", "\xe9", `","b":"`, `\"\"\"\"\"\"\"\"\"`} {
			for n := range most {
				text := strings.Repeat(before, n/len(before)) + strings.Repeat("c", n%len(before)) + here
				for _, after := range []string{"", "d", strings.Repeat("d", most), strings.Repeat("d", most) + `\t`, `\t` + strings.Repeat("d", most)} {
					c.compare(t, `{"id":"`+text+after+`","method":"`+after+`m"}`)
				}
			}
		}
	}
}

// comparison compares scans with encoding/json.
type comparison struct{ whole, parts scanner }

func (c *comparison) compare(t *testing.T, line string) {
	t.Helper()
	messages, flaws := c.whole.scan([]byte(line))
	var want struct {
		ID     json.RawMessage
		Method string
	}
	if valid := json.Unmarshal([]byte(line), &want) == nil; valid == flaws.Has(FlawMalformed|FlawTrailing) {
		t.Fatalf("%q: valid for encoding/json: %v, flaws %b", line, valid, flaws)
	} else if valid && (string(messages[0].ID) != string(want.ID) || string(messages[0].Method) != want.Method) {
		t.Fatalf("%q: id %q, method %q", line, messages[0].ID, messages[0].Method)
	}
	half := len(line) / 2
	c.parts.reset()
	c.parts.feed([]byte(line[:half]))
	c.parts.feed([]byte(line[half:]))
	if _, again := c.parts.finish(); again != flaws {
		t.Fatalf("%q: flaws %b, in two parts %b", line, flaws, again)
	}
}
