package egress

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/mcp-jail/mcp-jail/policy"
)

// verdict is what the rules say of a protocol to a host.
type verdict int

const (
	verdictDeny      verdict = iota
	verdictPass              // whatever is sent
	verdictIntercept         // depends on each request
)

// protocols are those of rules, as protocols have them.
var protocols = [...]protocol{protoTLS, protoHTTP, protoOther}

// destination is where a connection wants to go, and what the rules say of it.
type destination struct {
	to      netip.AddrPort
	host    string // as rules know it: a name, an address, "localhost"
	named   bool   // host is a name, and its addresses are the resolver's
	verdict [protoOther + 1]verdict
	opaque  bool                           // rules of scheme tcp decide: what is sent is nobody's business
	literal bool                           // the address itself is granted
	rules   [protoOther + 1]policy.NetRule // that decided
	why     Reason                         // where nothing is granted
	detail  string
}

// decide finds out what an address stands for, and evaluates the rules.
func (g *Gateway) decide(to netip.AddrPort) destination {
	addr := to.Addr().WithZone("").Unmap()
	d := destination{to: netip.AddrPortFrom(addr, to.Port()), why: ReasonNotGranted}
	port := int(to.Port())
	if d.host, d.named = g.fakeIPs.host(addr); !d.named {
		d.host = g.addressName(addr, port)
	}
	d.opaque = true
	for _, p := range protocols {
		d.verdict[p], d.rules[p] = g.evaluate(d.host, p.scheme(), port)
		d.opaque = d.opaque && d.verdict[p] == verdictPass && d.rules[p].Scheme == "tcp"
	}
	// No request can be seen in what is not HTTP.
	if d.verdict[protoOther] == verdictIntercept {
		d.verdict[protoOther] = verdictDeny
	}
	if d.named || !d.granted() {
		return d // the addresses behind a name are checked when it is dialled
	}
	if reason, ok := g.checkAddress(addr, port); !ok {
		d.verdict, d.opaque, d.detail = [protoOther + 1]verdict{}, false, fmt.Sprintf("%s %s", addr, reason)
	}
	return d
}

func (d *destination) granted() bool { return d.verdict != [protoOther + 1]verdict{} }

// needsInterception reports whether some protocol of the connection would be for a Terminator.
func (d *destination) needsInterception() bool {
	return d.verdict[protoTLS] == verdictIntercept || d.verdict[protoHTTP] == verdictIntercept
}

// needsNameCheck reports whether it matters which host is named over a protocol. Whoever
// grants an address grants whatever is there.
func (d *destination) needsNameCheck(p protocol) bool { return d.named || d.rules[p].Host == "*" }

// addressName is what rules call an address. The two of localhost have that name too.
func (g *Gateway) addressName(addr netip.Addr, port int) string {
	name := addr.String()
	if isLocalhost(addr) && !slices.ContainsFunc(g.o.Rules, func(r policy.NetRule) bool {
		return r.Host == name && r.Covers(name, port)
	}) {
		return "localhost"
	}
	return name
}

func isLocalhost(a netip.Addr) bool {
	return a == netip.AddrFrom4([4]byte{127, 0, 0, 1}) || a == netip.IPv6Loopback()
}

// evaluate evaluates the rules for a protocol to a host.
func (g *Gateway) evaluate(host, scheme string, port int) (verdict, policy.NetRule) {
	rule, ok := policy.MatchNet(g.o.Rules, host, scheme, port, "", "")
	switch {
	case policy.NeedsTerminating(g.o.Rules, host, scheme, port):
		return verdictIntercept, rule
	case ok:
		return verdictPass, rule
	}
	return verdictDeny, rule
}

// checkAddress is the check of an address that would be dialled.
func (g *Gateway) checkAddress(addr netip.Addr, port int) (reason string, ok bool) {
	own, err := g.hostAddrs()
	if err != nil {
		return "cannot be compared with this host's own: " + err.Error(), false
	}
	return policy.CheckAddress(g.o.Rules, addr, port, own)
}

// grantedPorts are the ports on which some protocol of a host is granted.
func (g *Gateway) grantedPorts(host string) (ports []int) {
	for _, port := range g.ports {
		for _, p := range protocols {
			if v, _ := g.evaluate(host, p.scheme(), int(port)); v == verdictPass || v == verdictIntercept && p != protoOther {
				ports = append(ports, int(port))
				break
			}
		}
	}
	return ports
}

// checkNames decides about the hosts that the first bytes, or a request, name: "" for none.
func (g *Gateway) checkNames(d *destination, p protocol, hosts []string) (why Reason, detail string) {
	for _, host := range hosts {
		name := ""
		if host != "" {
			var err error
			if name, err = policy.NormalizeTarget(host); err != nil {
				return ReasonWrongName, err.Error()
			}
		}
		switch {
		case name == d.host:
		case d.named && !g.grantsAddress(d.to, p) && name == "":
			return ReasonWrongName, "it names none, over " + p.String()
		case d.named && !g.grantsAddress(d.to, p):
			return ReasonWrongName, "it names " + name
		case name != "":
			// Under "*" an address is as good as a name: the name that is asked for
			// there only has to be granted itself.
			if v, _ := g.evaluate(name, p.scheme(), int(d.to.Port())); v != verdictPass {
				return ReasonWrongName, "it names " + name
			}
		}
	}
	return 0, ""
}

// grantsAddress reports whether a protocol to an address is granted, name or no name.
func (g *Gateway) grantsAddress(to netip.AddrPort, p protocol) bool {
	v, _ := g.evaluate(g.addressName(to.Addr(), int(to.Port())), p.scheme(), int(to.Port()))
	_, ok := g.checkAddress(to.Addr(), int(to.Port()))
	return v == verdictPass && ok
}
