package gateway

import (
	"slices"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan/plantest"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestRules checks the rules for a gateway that cannot inspect requests, and that the plan has
// a gap for them that can be waived.
func TestRules(t *testing.T) {
	rules := []policy.NetRule{
		{Host: "api.example.org", PathPrefix: "/repos", Allow: true},
		{Host: "api.example.org", PathPrefix: "/admin"},
		{Host: "*.example.org", Allow: true},
		{Host: "evil.example.org"},
	}
	got := Rules(rules)
	want := []policy.NetRule{{Host: "api.example.org", Allow: true}, {Host: "*.example.org", Allow: true}, {Host: "evil.example.org"}}
	if !slices.EqualFunc(got, want, func(a, b policy.NetRule) bool {
		return a.Host == b.Host && a.Allow == b.Allow && a.PathPrefix == b.PathPrefix
	}) {
		t.Errorf("%+v", got)
	}
	f := plantest.Kernel()
	p := plantest.Profile()
	p.Net = rules
	if gaps := plan.Compile(p, f, plan.Watching{}).Gaps; len(gaps) != 1 || gaps[0].Axis != policy.AxisNet || gaps[0].Fatal {
		t.Errorf("%+v, want one gap that can be waived", gaps)
	}
	p.Net = rules[2:]
	if gaps := plan.Compile(p, f, plan.Watching{}).Gaps; gaps != nil {
		t.Errorf("%+v, want none", gaps)
	}
}
