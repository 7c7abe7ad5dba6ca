package diagnostics

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestNameWithEscape checks that a name with an escape sequence inside leads to no line, because
// without the sequence it names something else, and that sequences around a name do no harm.
func TestNameWithEscape(t *testing.T) {
	for _, format := range testkit.Table[string](t, "escapes.txt") {
		for _, seq := range []string{"\x1b]0;P\a", "\x1b[31m", "\x1b[K", "\u009b2J", "\x1b(B", "\x1b]0;/home/u/notes/a.md\a"} {
			diagnose := func(text string) Diagnosis {
				ev := evidence(text)
				ev.Roots = []string{"/home/u/notes"}
				return Diagnose(ev)
			}
			if d := diagnose(strings.Replace(format, "%s", seq, 1)); len(d.Words) > 0 {
				t.Errorf("%q with %q: %q", format, seq, d.Words)
			}
			if d := diagnose("\x1b[31m" + strings.Replace(format, "%s", "", 1) + "\x1b[39m"); len(d.Words) == 0 {
				t.Errorf("%q in colour: no line (%s)", format, d.Cause)
			}
		}
	}
	if d := Diagnose(evidence("\x1b[31merror\x1b[0m: EACCES, open \x1b[2m'\x1b[32m/home/u/notes/a.md\x1b[39m'\x1b[0m")); len(d.Words) == 0 {
		t.Errorf("colours around a name: no line (%s)", d.Cause)
	}
}
