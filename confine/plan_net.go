package confine

import (
	"fmt"
	"slices"
	"strconv"
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

// noInbound: without a network namespace no port of the profile leads to the server
// that is not its own.
func (c *compiler) noInbound() {
	if c.p.Inbound == nil {
		return
	}
	c.gap(Gap{
		Axis: policy.AxisNet, What: "inbound ports " + ports(c.p.Inbound),
		Why: "no port of the host leads into a jail without a network namespace yet",
		Fix: `remove the inbound rules, or accept that nothing reaches the server with waive = ["net"] (--waive net)`,
	})
}

func ports(list []int) string {
	var words []string
	for _, p := range list {
		words = append(words, strconv.Itoa(p))
	}
	return strings.Join(words, ", ")
}
