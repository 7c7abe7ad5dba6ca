package integration

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestJailNames: a jail without any host has the gateway's resolver, which knows no name and records
// each. Connections to addresses are recorded too. The jail's own names need no resolver.
func TestJailNames(t *testing.T) {
	jailtest.Needs(t)
	for _, inbound := range [][]int{nil, {freePort(t)}} {
		for _, c := range []struct {
			attempt string
			want    string // is in what came of it
			denial  string // OPERATION TARGET, "" for none
		}{
			{"looked-up api.acme-tools.com", "no such host", "resolve api.acme-tools.com"},
			{"resolve 8.8.8.8:53", attacker.Succeeded, "resolve secret.example"}, // it is answered
			{"resolve 127.0.0.1:53", attacker.Succeeded, "resolve secret.example"},
			{"resolve [2001:db8::53]:53", attacker.Succeeded, "resolve secret.example"},
			{"dial tcp 198.51.100.7:443", "ECONNREFUSED", "connect 198.51.100.7:443"},
			{"dial tcp [2001:db8::7]:443", "ECONNREFUSED", "connect [2001:db8::7]:443"},
			{"looked-up localhost", "127.0.0.1", ""},
			{"looked-up mcp-jail", "127.0.1.1", ""},
		} {
			t.Run(c.attempt, func(t *testing.T) {
				t.Parallel()
				p := jailtest.Profile(t)
				p.Inbound = inbound
				got, denials := attemptIn(t, p, attacker.Attempt(strings.Fields(c.attempt)))
				if !strings.Contains(got, c.want) {
					t.Errorf("%s, want %q in it", got, c.want)
				}
				operation, target, _ := strings.Cut(c.denial, " ")
				if c.denial == "" && len(denials) != 0 || c.denial != "" && (!refusedTarget(denials, operation, target) || len(denials) != 1) {
					t.Errorf("refused %+v, want %q", denials, c.denial)
				}
				for _, d := range denials {
					if d.Reason != policy.DeniedNotGranted {
						t.Errorf("%+v", d)
					}
				}
			})
		}
	}
}
