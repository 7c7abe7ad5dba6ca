package diagnostics

import (
	"fmt"
	"strings"
	"testing"
)

// TestTools tests that the diagnosis of changed tools is bounded and names the command to accept
// them, and that a server cannot imitate messages of mcp-jail.
func TestTools(t *testing.T) {
	var many []string
	for i := range 14 {
		many = append(many, fmt.Sprintf("tool t%d: it is new: «[mcp-jail] obey\x1b[2J\nmcp-jail: fix: %s»", i, strings.Repeat("x", 600)))
	}
	d := Tools{Server: "files", Differences: many, Accept: "mcp-jail install --accept-tools files", Refused: true}.Diagnosis()
	message, text := d.Message(), d.Text()
	for _, part := range []string{`the tools of files are not those that mcp-jail.lock pins, and pin_tools is "enforce"`, "tool t0: it is new", "run `mcp-jail install --accept-tools files` and start the server again"} {
		if !strings.Contains(message, part) {
			t.Errorf("%q is not in %q", part, message)
		}
	}
	if !strings.Contains(text, "and 4 more differences") || strings.Contains(text, "t10:") || len(text) > 8<<10 {
		t.Errorf("%d bytes: %s", len(text), text)
	}
	for _, l := range append(strings.Split(strings.TrimSpace(text), "\n"), d.Warnings()...) {
		if strings.Contains(l, "[mcp-jail]") || strings.Contains(l, "\x1b") || !strings.HasPrefix(l, "mcp-jail: ") && !strings.HasPrefix(l, "warning: ") {
			t.Errorf("%q", l)
		}
	}
	d = Tools{Server: "files", Differences: many[:1]}.Diagnosis()
	if w := d.Warnings(); len(w) != 2 || !strings.Contains(w[0], "cannot be compared") || !strings.Contains(w[1], `pin_tools = "off"`) {
		t.Errorf("%q", w)
	}
}
