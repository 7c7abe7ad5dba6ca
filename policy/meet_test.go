package policy

import (
	"slices"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestMeetSecrets checks that the secrets of the first profile are used for the hosts that are left, and none of the
// second, that of two limits the lower one holds, and that the ports of both are left.
func TestMeetSecrets(t *testing.T) {
	rule := func(host string, secrets ...string) NetRule {
		r := NetRule{Host: host, Scheme: "https", Allow: true}
		for _, name := range secrets {
			r.Secrets = append(r.Secrets, Secret{Env: name})
		}
		return r
	}
	a := &Profile{
		Net: []NetRule{rule("a.example", "A"), rule("b.example", "B")}, Secrets: []Secret{{Env: "A"}, {Env: "B"}},
		Env: []Variable{{Name: "A"}, {Name: "B"}, {Name: "PLAIN"}}, Limits: Limits{MemoryMB: 100, Processes: 20}, Inbound: []int{1, 2},
	}
	b := &Profile{Net: []NetRule{rule("a.example", "THEIRS")}, Secrets: []Secret{{Env: "THEIRS"}}, Env: []Variable{{Name: "THEIRS"}}, Limits: Limits{MemoryMB: 200, Processes: 10}, Inbound: []int{2, 3}}
	met, err := Meet(a, b)
	testkit.Must(t, err)
	if len(met.Net) != 1 || !slices.Equal(met.Net[0].SecretNames(), []string{"A"}) || len(met.Secrets) != 1 || met.Secrets[0].Env != "A" || len(met.Env) != 1 || met.Env[0].Name != "A" {
		t.Errorf("%+v", met)
	}
	if met.Limits.MemoryMB != 100 || met.Limits.Processes != 10 || !slices.Equal(met.Inbound, []int{2}) {
		t.Errorf("%+v, ports %v", met.Limits, met.Inbound)
	}
}
