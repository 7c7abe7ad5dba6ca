package inspect

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

func toldOf(server, target string, count int) records.Told {
	return records.Told{Kept: server, Refusal: diagnostics.Refusal{
		Time: time.Now(), Count: count,
		Diagnosis: diagnostics.Diagnosis{
			Server: server, What: "it failed", Cause: "the jail refused " + target + "\x1b[2J", Attribution: diagnostics.Certain,
			Hints: []diagnostics.Hint{{Axis: policy.AxisFs, Target: target}},
		},
	}}
}

// TestTeller tests that the first refusal is printed in full, that those that are alike are counted
// and printed less and less often, that none is lost at the end, and that no control character of a
// server reaches the terminal.
func TestTeller(t *testing.T) {
	for _, json := range []bool{false, true} {
		out, err := os.CreateTemp(t.TempDir(), "out")
		if err != nil {
			t.Fatal(err)
		}
		host := hostfs.Host{Home: "/home/u", StateDir: t.TempDir()}
		teller := newTeller(terminal.New(nil, out, out), host, json)
		said := func() string {
			b, err := os.ReadFile(out.Name())
			if err != nil {
				t.Fatal(err)
			}
			out.Truncate(0)
			out.Seek(0, 0)
			if strings.Contains(string(b), "\x1b") {
				t.Errorf("it has an escape: %q", b)
			}
			return string(b)
		}
		now := time.Now()
		if due := teller.due(now); due < time.Minute {
			t.Errorf("with nothing to print, due in %v", due)
		}
		teller.tell([]records.Told{toldOf("a", "/home/u/x", 1), toldOf("b", "/home/u/x", 3)}, now, false)
		first := said()
		want := []string{"  a\nit failed\n  cause (certain): the jail refused /home/u/x", "  b  (3 times)\nit failed\n"}
		if json {
			want = []string{`"count":1,`, `"count":3,`}
		}
		for _, part := range want {
			if !strings.Contains(first, part) {
				t.Errorf("%q is not in %q", part, first)
			}
		}
		teller.tell([]records.Told{toldOf("a", "/home/u/x", 2)}, now, false)
		if text := said(); text != "" {
			t.Errorf("at once: %q", text)
		}
		due := teller.due(now)
		if due <= 0 || due > firstPause {
			t.Errorf("due in %v", due)
		}
		again := func(n, word string) string {
			if json {
				return `"count":` + n + `,`
			}
			return "  a  " + word + ": it failed: \"~/x\"\n"
		}
		teller.tell([]records.Told{toldOf("a", "/home/u/x", 2)}, now.Add(due), false)
		if text := said(); !strings.Contains(text, again("4", "4 more times")) || strings.Contains(text, "  b") {
			t.Errorf("later: %q", text)
		}
		teller.tell([]records.Told{toldOf("a", "/home/u/x", 1)}, now.Add(2*due), false)
		if text := said(); text != "" {
			t.Errorf("too soon: %q", text)
		}
		teller.tell(nil, now.Add(2*due), true)
		if text := said(); !strings.Contains(text, again("1", "once more")) {
			t.Errorf("at the end: %q", text)
		}
		var flood []records.Told
		for i := range maxTold + 1 {
			flood = append(flood, toldOf("a", "/other/"+strings.Repeat("x", i%50)+string(rune('a'+i%26))+time.Duration(i).String(), 1))
		}
		teller.tell(flood, now, false)
		if len(teller.told) > maxTold || len(teller.order) != len(teller.told) {
			t.Errorf("%d are kept", len(teller.told))
		}
	}
}
