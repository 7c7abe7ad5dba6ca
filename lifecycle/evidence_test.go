//go:build unix

package lifecycle

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestRecordedDenials: control characters that a server puts into names do not reach the
// record.
func TestRecordedDenials(t *testing.T) {
	t.Parallel()
	const secret = "sk-0123456789abcdef"
	denial := policy.Denial{Axis: policy.AxisFs, Operation: "open", Target: "/" + secret, Program: "/home/" + secret, Count: 1}
	p := begin(t, &sessiontest.Fake{Server: "polite", Denials: []policy.Denial{denial}}, func(s *session.Session) {
		s.Profile.Env = []policy.Variable{{Name: "TOKEN", Value: secret, Secret: true}}
	})
	p.Send(sessiontest.CallLine)
	p.Line()
	p.Close()
	for _, d := range p.Record.Denials {
		if d.Target != "/[redacted TOKEN]" || d.Program != "/home/[redacted TOKEN]" {
			t.Errorf("recorded: %+v", d)
		}
	}
	if b, err := p.Record.Encode(); err != nil || len(p.Record.Denials) != 1 || strings.Contains(string(b), secret) {
		t.Errorf("%v: %s", err, b)
	}
}
