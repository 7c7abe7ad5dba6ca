//go:build unix

package stateless

import (
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
)

// TestLostAnswers: a call whose process has answered another request, or not on one line, gets an
// error that says so, once the process is silent or has ended. An answer that still comes is better.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tool, arguments, want string }{
		{"text-id", "{}", `it answered with the id \"3\", and the request has the id 3: in JSON-RPC a number and a string are two ids`},
		{"other-id", "99", "it answered with the id 99, and the request has the id 3"},
		{"other-id", "null", "it answered with the id null, and the request has the id 3"},
		{"no-id", "{}", "it answered without an id, and the request has the id 3"},
		{"other-ends", "99", "it answered with the id 99, and the request has the id 3"},
		{"mixed", "{}", `its answer is after other text on one line of stdout, \"Welcome to the shop.\"`},
		{"indented", "{}", "writes one message over several lines"},
		{"deep", "{}", "an answer was not passed on: its values are nested more than 10000 deep"},
		{"framed", "{}", "frames its messages with Content-Length"},

		{"number", "{}", ""},
		{"logs-answer", "{}", ""},
		{"other-error", "99", ""},   // may answer a notification
		{"other-error", "null", ""}, // the same
		{"answers-notice", "null", ""},
	} {
		t.Run(c.tool+" "+c.arguments, func(t *testing.T) {
			t.Parallel()
			f := sessiontest.NewShop()
			f.Options = func(string, int) string { return "tools=" + c.tool }
			p := beginStateless(t, f, func(s *session.Session, _ *Options) { session.TimesOf(s).Silence = 100 * time.Millisecond })
			p.Greet()
			p.Send(sessiontest.CallOf("3", c.tool, c.arguments))
			line := p.Line()
			if c.want == "" {
				if !strings.Contains(line, `"result"`) {
					t.Errorf("got %q", line)
				}
			} else if got := sessiontest.FailureOf(t, line).String(); got != "3 -32603 call "+c.tool || !strings.Contains(line, c.want) {
				t.Errorf("got %q", line)
			}
			p.Nothing()
		})
	}
}
