package plan

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan/plantest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/statement"
)

// requests has rules for what is said on a connection.
func requests(p *policy.Profile, _ *features.Facts) {
	p.Net = []policy.NetRule{
		{Host: "api.example.org", PathPrefix: "/repos", Methods: []string{"GET"}, Secrets: []policy.Secret{{Env: "TOKEN"}}, Allow: true},
		{Host: "files.example.org", Allow: true},
	}
	p.Inbound = []int{3334}
}

// A server is told of the whole network where a waiver opens it, and only there.
func TestWaivedNetworkIsTold(t *testing.T) {
	told := func(change func(*policy.Profile, *features.Facts)) string {
		p, f := plantest.Profile(), plantest.Kernel()
		p.Net = []policy.NetRule{{Host: "api.example.org", Allow: true}}
		change(p, &f)
		p.Env = append(p.Env, policy.Variable{Name: policy.StatementVar, Value: string(statement.New(p).Encode())})
		for _, v := range Compile(p, f, Watching{}).Spec.Env {
			if text, ok := strings.CutPrefix(v, policy.StatementVar+"="); ok {
				var s statement.Statement
				testkit.Must(t, json.Unmarshal([]byte(text), &s))
				return s.Net.Access
			}
		}
		return "nothing"
	}
	waived := func(p *policy.Profile, _ *features.Facts) { p.Waive = append(p.Waive, policy.AxisNet) }
	if got := told(waived); got != "hosts" {
		t.Errorf("with namespaces: %s", got)
	}
	if got := told(func(p *policy.Profile, f *features.Facts) { waived(p, f); refuseNamespaces(f) }); got != "hosts" {
		t.Errorf("without: %s", got)
	}
	alone := func(f *features.Facts) { // there are neither namespaces nor a supervisor that could make sockets
		refuseNamespaces(f)
		f.Sockets = features.Feature{Answer: features.No, Detail: "no binding to lo"}
	}
	if got := told(func(p *policy.Profile, f *features.Facts) { waived(p, f); alone(f) }); got != "all" {
		t.Errorf("with neither: %s", got)
	}
	if got := told(func(p *policy.Profile, f *features.Facts) { alone(f) }); got != "hosts" {
		t.Errorf("with neither, and not waived: %s", got)
	}
}

// TestOptionalInbound checks that the port of a preset is no gap where no port can lead in, and that a
// port of the user's is one.
func TestOptionalInbound(t *testing.T) {
	gap := func(optional []int) (gap, note bool) {
		p, f := plantest.Profile(), plantest.Kernel()
		p.Inbound, p.OptionalInbound = []int{3334}, optional
		refuseNamespaces(&f)
		plan := Compile(p, f, Watching{})
		for _, g := range plan.Gaps {
			gap = gap || strings.Contains(g.What, "3334")
		}
		for _, n := range plan.Notes {
			note = note || strings.Contains(n, "3334")
		}
		return gap, note
	}
	if gap, note := gap(nil); !gap || note {
		t.Errorf("of the user: gap %v, note %v", gap, note)
	}
	if gap, note := gap([]int{3334}); gap || !note {
		t.Errorf("of a preset: gap %v, note %v", gap, note)
	}
}
