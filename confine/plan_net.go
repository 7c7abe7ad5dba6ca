package confine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// wholeNetwork: what a server with granted hosts has more than those, and what of
// its rules has no effect then.
func (c *compiler) wholeNetwork(o *order) {
	const fix = `, or accept the whole network for this server with waive = ["net"] (--waive net)`
	var requests []string
	for _, r := range c.p.Net {
		if r.Terminates() {
			requests = append(requests, r.Host)
		}
	}
	c.gap(Gap{
		Axis: policy.AxisNet, What: "only the hosts " + strings.Join(shorten(grantedHosts(c.p.Net), 6), ", "),
		Why: "without a network namespace there is no host allow-list yet, so the choice is all of the network or none",
		Fix: "remove the net rules" + fix,
	})
	if requests != nil {
		c.gap(Gap{
			Axis: policy.AxisNet, What: "path_prefix, methods and secret of " + strings.Join(shorten(requests, 6), ", "),
			Why: "requests are not looked at yet: any passes, and with the placeholder of a secret instead of its value",
			Fix: "remove these keys" + fix,
		})
	}
	if l := c.p.Limits; l.NetOutMB > 0 || l.Connections != policy.DefaultLimits.Connections && l.Connections > 0 {
		c.gap(Gap{
			Axis: policy.AxisLimits, What: fmt.Sprintf("net_out_mb = %d, connections = %d", l.NetOutMB, l.Connections),
			Why: "what leaves through the host's network is not counted",
			Fix: `remove these limits, or accept it for this server with waive = ["limits"] (--waive limits)`,
		})
	}
	if slices.Contains(c.p.Waive, policy.AxisNet) {
		o.tell(func(s *policy.Statement) { s.Net.Access, s.Net.Hosts = "all", []policy.StatementHost{} })
	}
}

// inbound: the ports of the profile that are to lead into the jail.
func (c *compiler) inbound() {
	if c.p.Inbound == nil {
		return
	}
	c.gap(Gap{
		Axis: policy.AxisNet, What: "inbound ports " + strings.Trim(fmt.Sprint(c.p.Inbound), "[]"),
		Why: "no port of the host leads into a jail yet",
		Fix: `remove the inbound rules, or accept that nothing reaches the server with waive = ["net"] (--waive net)`,
	})
}
