package doctorcmd

import (
	"fmt"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// selfTestText says what the self-test of a Mac found out: what failed first, and with all the other
// probes too. It is "" where there is no self-test.
func selfTestText(c terminal.Console, t confine.SelfTest, all bool) string {
	switch {
	case !t.Made && t.Why == "":
		return ""
	case !t.Made:
		return c.Paint(terminal.Red, "the self-test has no result, and no server starts:") + "\n" + elsewhere.Replace(show.Line(t.Why)) + "\n"
	}
	var b strings.Builder
	bad := len(t.Failed)
	if bad == 0 {
		b.WriteString(c.Paint(terminal.Green, "the self-test has passed") + "\n")
	} else {
		fmt.Fprintf(&b, "%s\n", c.Paint(terminal.Red, fmt.Sprintf("%d parts of the self-test have failed:", bad)))
	}
	shown := t.Failed[:0:0]
	for _, f := range t.Failed {
		if f.Fatal && !all {
			shown = append(shown, f) // where nothing starts, the other probes tell nothing new
			if f.ID == "S1" {
				break
			}
		}
	}
	if len(shown) == 0 {
		shown = t.Failed
	}
	for _, f := range shown {
		fmt.Fprintf(&b, "\n%s: this does not hold: %s\n  %s\n", f.ID, f.What, show.Line(f.Got))
		if f.Fatal {
			b.WriteString("  No server starts, and nothing can waive that.\n")
		} else {
			fmt.Fprintf(&b, "  Servers that need it do not start. To start one without it: %s\n", confine.WaiveFlags([]policy.Axis{f.Axis}))
		}
	}
	if rest := bad - len(shown); rest > 0 {
		fmt.Fprintf(&b, "\n%d more failed: --verbose lists them.\n", rest)
		return b.String()
	}
	for _, p := range t.Passed {
		if all {
			fmt.Fprintf(&b, "%-5s passed      %s\n", p.ID, p.What)
		}
	}
	return b.String()
}
