package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan/plantest"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestPlanAsks tests which jails get a gateway that can ask about hosts, and that the others are a gap.
func TestPlanAsks(t *testing.T) {
	unbrokered := func(f *features.Facts) { refuseNamespaces(f); f.Sockets = features.Unavailable("too old", "") }
	for _, c := range []struct {
		name  string
		host  func() features.Facts
		asked bool
		want  string
	}{
		{"by the rules", plantest.Kernel, false, "open [25 8443]"},
		{"asked", plantest.Kernel, true, "open [25 80 443 8443], that are consented to"},
		{"asked, without namespaces", changed(refuseNamespaces), true, "brokered, that are consented to"},
		{"asked, and nothing can be held", changed(unbrokered), true, "gap"},
		{"asked, on macOS", plantest.Mac, true, "gap"},
	} {
		p := plantest.Profile()
		p.Net = []policy.NetRule{{Host: "mail.example.org", Port: 25, Scheme: "tcp", Allow: true}, {Host: "api.example.org", Port: 8443, Allow: true}}
		p.Waive = []policy.Axis{policy.AxisNet, policy.AxisFs, policy.AxisProcess, policy.AxisIPC, policy.AxisLimits, policy.WaiveMacOS}
		plan := Compile(p, c.host(), Watching{Hosts: c.asked})
		got := ""
		if n := plan.Spec.Network; n.Open {
			got = fmt.Sprint("open ", n.Ports)
		} else if n.Brokered {
			got = "brokered"
		}
		text := fmt.Sprint(plan.Enforced, plan.Notes)
		for _, words := range []string{"that are consented to"} {
			if strings.Contains(text, words) {
				got += ", " + words
			}
		}
		if slices.ContainsFunc(plan.Gaps, func(g Gap) bool { return g.Fatal && g.What == "to ask about each host" }) {
			got += ", gap"
		}
		if got = strings.TrimPrefix(got, ", "); got != c.want && !(c.want == "gap" && strings.HasSuffix(got, "gap")) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if len(plan.Profile.Net) != 2 || plan.AsksHosts != c.asked {
			t.Errorf("%s: the plan has the rules %v, and asks: %t", c.name, plan.Profile.Net, plan.AsksHosts)
		}
	}
}

func changed(change func(*features.Facts)) func() features.Facts {
	return func() features.Facts {
		f := plantest.Kernel()
		change(&f)
		return f
	}
}
