//go:build unix

package lifecycle

import (
	"strings"
	"testing"
)

// TestClientNamed tests that what the client calls itself is told once, in both eras and in
// both kinds of sessions, and nothing if the client does not say it.
func TestClientNamed(t *testing.T) {
	t.Parallel()
	hello := func(params string) string { return legacy("1", "initialize", params) }
	for _, c := range []struct {
		name string
		send []string
		want string
	}{
		{"legacy", []string{hello(`{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"code","version":"2.1"}}`), legacy("2", "tools/list", "{}")}, "code 2.1"},
		{"modern", []string{modernBy("cl", "1", "tools/list", ""), modernBy("other", "2", "tools/list", "")}, "cl "},
		{"two handshakes", []string{hello(`{"clientInfo":{"name":"a"}}`), strings.Replace(hello(`{"clientInfo":{"name":"b"}}`), `"id":1`, `"id":2`, 1)}, "a "},
		{"no name", []string{hello(`{"capabilities":{}}`)}, ""},
		{"another type", []string{hello(`{"clientInfo":7}`)}, ""},
		{"too long", []string{hello(`{"clientInfo":{"name":"` + strings.Repeat("x", maxIntroduction) + `"}}`)}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var told []string
			named := func(name, version string) { told = append(told, name+" "+version) }
			p := begin(t, &fake{server: "polite"}, func(s *Session) { s.ClientNamed = named })
			for _, line := range c.send {
				p.send(line)
				p.line()
			}
			p.in.Close()
			p.rest()
			p.ended()
			if got := strings.Join(told, ", "); got != c.want {
				t.Errorf("told %q, want %q", got, c.want)
			}
		})
	}
	t.Run("stateless", func(t *testing.T) {
		t.Parallel()
		var told []string
		p := beginStateless(t, newShop(), func(s *Session, _ *Stateless) {
			s.ClientNamed = func(name, version string) { told = append(told, name+" "+version) }
		})
		p.greet()
		p.send(legacy("1", "tools/list", "{}"))
		p.answer("1")
		p.close()
		if got := strings.Join(told, ", "); got != "c 1" {
			t.Errorf("told %q", got)
		}
	})
}
