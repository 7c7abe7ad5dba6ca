package egress

import "github.com/mcp-jail/mcp-jail/policy"

// askedRule is the Where of a rule that an answer of Options.Ask made.
const askedRule = "asked during the session"

// AskedPorts are the ports at which the jail has listeners for hosts that Options.Ask may grant. A connection to
// another port that no rule is about is refused by the jail's kernel. A listener takes its port from the jail's
// programs, so these are few: those of HTTP.
func AskedPorts() []uint16 { return []uint16{80, 443, 8443} }

// mayAsk reports whether a destination is one to ask about: a name that the program has looked up, and that
// no rule is about.
func (g *Gateway) mayAsk(d *destination) bool {
	if g.asking.Ask == nil || !d.named {
		return false
	}
	for _, p := range protocols {
		if d.rules[p].Host != "" {
			return false
		}
	}
	return true
}

// consents asks about a destination that nothing grants. With the answer yes, the rules grant its host and
// port from then on.
func (g *Gateway) consents(d *destination) bool {
	if !g.mayAsk(d) {
		return false
	}
	yes, why := g.asking.Answer(g.life.jailCtx, d.host, int(d.to.Port()))
	if !yes {
		d.why, d.detail = policy.DeniedNotGranted, why
		return false
	}
	g.rules.grant(policy.NetRule{Host: d.host, Port: int(d.to.Port()), Allow: true, Where: askedRule})
	g.rules.judge(d)
	return d.granted()
}
