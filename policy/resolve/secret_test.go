package resolve

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

const api = "[servers.s]\ncommand = \"server\"\n[[servers.s.access.net]]\nhost = \"api.example\"\nallow = true\nsecret = "

func value(p *policy.Profile, name string) string {
	for _, v := range p.Env {
		if v.Name == name {
			return v.Value
		}
	}
	return "(unset)"
}

// TestSecretOfVariable checks that neither the profile nor the statement contains the
// value of a secret.
func TestSecretOfVariable(t *testing.T) {
	h := newFake(aSystem)
	p, ws := mustResolve(t, h, api+`{ env = "GH_TOKEN" }`+"\n", func(h *hostfs.Host) { h.Environ = append(h.Environ, "GH_TOKEN=ghp_value") })
	if codes(ws) != "" || value(p, "GH_TOKEN") != policy.Placeholder("GH_TOKEN") || len(p.Secrets) != 1 || p.Secrets[0].Env != "GH_TOKEN" || slices.Contains(p.Withheld, "GH_TOKEN") {
		t.Errorf("%+v, %v, %v", p.Secrets, value(p, "GH_TOKEN"), ws)
	}
	text, err := p.MarshalJSON()
	if err != nil || !strings.Contains(string(text), `"secrets":["GH_TOKEN"]`) || !strings.Contains(string(text), `"secrets":[{"env":"GH_TOKEN","rule":"c.toml:6"}]`) {
		t.Errorf("%s, %v", text, err)
	}
	for _, v := range []string{string(text), string(policy.NewStatement(p).Encode()), fmt.Sprintf("%+v", p)} {
		if strings.Contains(v, "ghp_value") {
			t.Errorf("the value is in %s", v)
		}
	}
	if !strings.Contains(string(policy.NewStatement(p).Encode()), `"secrets":["GH_TOKEN"]`) {
		t.Errorf("%s", policy.NewStatement(p).Encode())
	}
	// The control: a variable that a rule grants has its value.
	if p, _ := mustResolve(t, h, "[servers.s]\ncommand = \"server\"\nvariables = [\"GH_TOKEN\"]\n"); value(p, "GH_TOKEN") != "ghp_x" {
		t.Errorf("a variable is %q", value(p, "GH_TOKEN"))
	}
}
