//go:build unix

package stateless

import (
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
)

// TestLostAnswers: a call whose process has answered another request, or not on one line, gets an
// error that says so, once the process is silent or has ended. An answer that still comes is better.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range testkit.Table[struct{ tool, arguments, want string }](t, "lost-answers.txt") {
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
