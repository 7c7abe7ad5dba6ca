//go:build unix

package lifecycle

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/stateless"
)

// TestClientNamed tests that what the client calls itself is told once, in both eras and in
// both kinds of sessions, and nothing if the client does not say it.
func TestClientNamed(t *testing.T) {
	t.Parallel()
	hello := func(params string) string { return sessiontest.Legacy("1", "initialize", params) }
	for _, c := range []struct {
		name string
		send []string
		want string
	}{
		{"legacy", []string{hello(`{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"code","version":"2.1"}}`), sessiontest.Legacy("2", "tools/list", "{}")}, "code 2.1"},
		{"modern", []string{sessiontest.ModernBy("cl", "1", "tools/list", ""), sessiontest.ModernBy("other", "2", "tools/list", "")}, "cl "},
		{"two handshakes", []string{hello(`{"clientInfo":{"name":"a"}}`), strings.Replace(hello(`{"clientInfo":{"name":"b"}}`), `"id":1`, `"id":2`, 1)}, "a "},
		{"no name", []string{hello(`{"capabilities":{}}`)}, ""},
		{"another type", []string{hello(`{"clientInfo":7}`)}, ""},
		{"too long", []string{hello(`{"clientInfo":{"name":"` + strings.Repeat("x", session.MaxIntroduction) + `"}}`)}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var told []string
			named := func(name, version string) { told = append(told, name+" "+version) }
			p := begin(t, &sessiontest.Fake{Server: "polite"}, func(s *session.Session) { s.ClientNamed = named })
			for _, line := range c.send {
				p.Send(line)
				p.Line()
			}
			p.Close()
			if got := strings.Join(told, ", "); got != c.want {
				t.Errorf("told %q, want %q", got, c.want)
			}
		})
	}
	t.Run("stateless", func(t *testing.T) {
		t.Parallel()
		var told []string
		p := beginStateless(t, sessiontest.NewShop(), func(s *session.Session, _ *stateless.Options) {
			s.ClientNamed = func(name, version string) { told = append(told, name+" "+version) }
		})
		p.Greet()
		p.Ask(sessiontest.Legacy("1", "tools/list", "{}"))
		p.Close()
		if got := strings.Join(told, ", "); got != "c 1" {
			t.Errorf("told %q", got)
		}
	})
}
