package resolve

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// The value of a secret is nowhere in what can be printed.
func TestProfileJSON(t *testing.T) {
	p, _ := mustResolve(t, newFake(aSystem), aServer+"variables = [\"GH_TOKEN\"]\n")
	text, err := json.Marshal(p)
	if err != nil || strings.Contains(string(text), "ghp_x") || !strings.Contains(string(text), `"name":"GH_TOKEN","secret":true`) {
		t.Errorf("%s, %v", text, err)
	}
	q, _ := mustResolve(t, newFake(aSystem), aServer+"variables = [\"GH_TOKEN\"]\n", func(h *hostfs.Host) { h.Environ = append(h.Environ, "GH_TOKEN=other") })
	if p.Key() != q.Key() || p.Equal(q) {
		t.Error("a secret's value is in Key, or not in Equal")
	}
	r, _ := mustResolve(t, newFake(aSystem), aServer)
	if p.Key() == r.Key() {
		t.Error("two policies, one Key")
	}
}
