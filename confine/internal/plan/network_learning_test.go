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

// TestPlanNetwork tests which jails get a gateway for a network that is closed or asked about, and what becomes
// of the others: no network, and never that of the host.
func TestPlanNetwork(t *testing.T) {
	unbrokered := func(f *features.Facts) { refuseNamespaces(f); f.Sockets = features.Unavailable("too old", "") }
	for _, c := range []struct {
		name    string
		host    func() features.Facts
		network Network
		want    string
	}{
		{"by the rules", plantest.Kernel, NetworkGranted, "open [25 8443]"},
		{"closed", plantest.Kernel, NetworkClosed, "open [80 443 8443], no host is reached"},
		{"asked", plantest.Kernel, NetworkAsked, "open [25 80 443 8443], that are consented to"},
		{"closed, without namespaces", changed(refuseNamespaces), NetworkClosed, "brokered, no host is reached"},
		{"asked, without namespaces", changed(refuseNamespaces), NetworkAsked, "brokered, that are consented to"},
		{"closed, and nothing can be seen", changed(unbrokered), NetworkClosed, "not seen here: too old"},
		{"asked, and nothing can be held", changed(unbrokered), NetworkAsked, "gap"},
		{"closed, on macOS", plantest.Mac, NetworkClosed, "not seen here: only on Linux"},
		{"asked, on macOS", plantest.Mac, NetworkAsked, "gap"},
	} {
		p := plantest.Profile()
		p.Net = []policy.NetRule{{Host: "mail.example.org", Port: 25, Scheme: "tcp", Allow: true}, {Host: "api.example.org", Port: 8443, Allow: true}}
		p.Waive = []policy.Axis{policy.AxisNet, policy.AxisFs, policy.AxisProcess, policy.AxisIPC, policy.AxisLimits, policy.WaiveMacOS}
		plan := Compile(p, c.host(), Watching{Network: c.network})
		got := ""
		if n := plan.Spec.Network; n.Open {
			got = fmt.Sprint("open ", n.Ports)
		} else if n.Brokered {
			got = "brokered"
		}
		text := fmt.Sprint(plan.Enforced, plan.Notes)
		for _, words := range []string{"no host is reached", "that are consented to", "not seen here: too old", "not seen here: only on Linux"} {
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
		if closed := c.network == NetworkClosed; closed != (plan.Profile.Net == nil) || closed && plan.Spec.HostNames || plan.Network != c.network {
			t.Errorf("%s: the plan has the rules %v, the host's names %v", c.name, plan.Profile.Net, plan.Spec.HostNames)
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
