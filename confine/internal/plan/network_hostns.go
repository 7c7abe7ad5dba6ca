package plan

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
)

func brokeredNetwork(c *compiler, o *spec.Spec, granted []string) {
	if missing := canBroker(c.f); missing.Answer != features.Yes {
		hostNetwork(c, o, missing)
		return
	}
	o.Network.Brokered = true
	by := "sockets that a supervisor makes and connects, asked by seccomp"
	if c.f.LandlockABI >= 4 {
		by += "; Landlock"
	}
	onlyHosts(c, by, granted)
	c.interceptTLS(o)
	c.plan.Notes = append(c.plan.Notes, "the server cannot listen on a port, and connections of its processes to each other cannot be made but by pairs of sockets")
}

func canBroker(f features.Facts) features.Feature {
	if mediates := canMediateHostNS(f); mediates.Answer != features.Yes {
		return mediates
	}
	return f.Sockets
}

func onlyHosts(c *compiler, by string, granted []string) {
	if c.plan.AsksHosts {
		granted = append(slices.DeleteFunc(slices.Clone(granted), func(h string) bool { return h == "*" }), "that are consented to")
	}
	c.addEnforced(policy.AxisNet, by, "only the hosts %s; every other is refused at once and recorded", strings.Join(shorten(granted, 6), ", "))
}

// hostNetwork adds the gaps of a server whose granted hosts cannot be enforced. It gets the
// host's whole network, and its other rules about the network have no effect.
func hostNetwork(c *compiler, o *spec.Spec, missing features.Feature) {
	o.HostNames = true
	const fix = `, or accept the whole network for this server with waive = ["net"] (--waive net)`
	c.addGap(Gap{
		Axis: policy.AxisNet, What: "only the hosts " + strings.Join(shorten(grantedHosts(c.p.Net), 6), ", "),
		Why: "there is no network namespace, and no supervisor can decide what a socket may reach: " + missing.Detail + "; so the server gets all of the network or none",
		Fix: strings.TrimPrefix(missing.Fix+", or remove the net rules", ", or ") + fix,
	})
	if NeedsInterception(c.p.Net) {
		unseenRequests(c, "requests are not inspected then: every request passes, with the placeholder of a secret instead of its value", "remove these keys"+fix)
	}
}

func unseenRequests(c *compiler, why, fix string) {
	c.addGap(Gap{Axis: policy.AxisNet, What: requestsOf(c.p.Net), Why: why, Fix: fix})
}

func requestsOf(rules []policy.NetRule) string {
	var hosts []string
	for _, r := range rules {
		if r.NeedsInterception() && !slices.Contains(hosts, r.Host) {
			hosts = append(hosts, r.Host)
		}
	}
	return "path_prefix, methods and secret of " + strings.Join(shorten(hosts, 6), ", ")
}

func noInbound(c *compiler) {
	const why = "a port of the host can lead only into a jail with a network namespace"
	required := requiredInbound(c.p)
	if len(c.p.OptionalInbound) > 0 {
		c.plan.Notes = append(c.plan.Notes, "the inbound ports "+ports(c.p.OptionalInbound)+" of the preset do not lead in, so no browser can finish a login: "+why)
	}
	if len(required) == 0 {
		return
	}
	c.addGap(Gap{
		Axis: policy.AxisNet, What: "inbound ports " + ports(required),
		Why: why,
		Fix: `remove the inbound rules, or accept that nothing reaches the server with waive = ["net"] (--waive net)`,
	})
}

// requiredInbound returns the ports that rules of the user name. Those of presets alone are optional.
func requiredInbound(p *policy.Profile) []int {
	return slices.DeleteFunc(slices.Clone(p.Inbound), func(port int) bool { return slices.Contains(p.OptionalInbound, port) })
}

func ports(list []int) string {
	var words []string
	for _, p := range list {
		words = append(words, strconv.Itoa(p))
	}
	return strings.Join(words, ", ")
}
