package egress

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/mcp-jail/mcp-jail/policy"
)

// verdict is what the rules decide about a protocol to a host.
type verdict int

const (
	verdictDeny      verdict = iota
	verdictPass              // pass on all bytes
	verdictIntercept         // each request decides
)

// protocols are the protocols that rules can grant.
var protocols = [...]protocol{protoTLS, protoHTTP, protoOther}

// destination is the destination of a connection and what the rules decide about it.
type destination struct {
	to      netip.AddrPort
	host    string // as rules write it: a name, an address or "localhost"
	named   bool   // host is a name; the resolver knows its addresses
	verdict [protoOther + 1]verdict
	opaque  bool                           // only rules with scheme = "tcp" decide, so the bytes do not matter
	rules   [protoOther + 1]policy.NetRule // the deciding rule of each protocol
	why     policy.DenialReason            // set if nothing is granted
	detail  string
}

// decide finds the host that an address stands for and evaluates the rules.
func (g *Gateway) decide(to netip.AddrPort) destination {
	addr := to.Addr().WithZone("").Unmap()
	d := destination{to: netip.AddrPortFrom(addr, to.Port()), why: policy.DeniedNotGranted}
	port := int(to.Port())
	if d.host, d.named = g.fakeIPs.host(addr); !d.named {
		d.host = g.addressName(addr, port)
	}
	d.opaque = true
	for _, p := range protocols {
		d.verdict[p], d.rules[p] = g.evaluate(d.host, p.scheme(), port)
		d.opaque = d.opaque && d.verdict[p] == verdictPass && d.rules[p].Scheme == "tcp"
	}
	// Bytes that are not HTTP have no requests to decide about. On the port of HTTPS, a server may take
	// for TLS what sniffProtocol does not.
	if d.verdict[protoOther] == verdictIntercept || port == 443 && d.rules[protoOther].Scheme != "tcp" {
		d.verdict[protoOther] = verdictDeny
	}
	if d.named || !d.granted() {
		return d // the addresses of a name are checked when it is dialled
	}
	if reason, ok := g.checkAddress(addr, port); !ok {
		d.verdict, d.opaque, d.detail = [protoOther + 1]verdict{}, false, fmt.Sprintf("%s %s", addr, reason)
	}
	return d
}

func (d *destination) granted() bool { return d.verdict != [protoOther + 1]verdict{} }

// needsInterception reports whether an Interceptor has to serve some protocol of d.
func (d *destination) needsInterception() bool {
	return d.verdict[protoTLS] == verdictIntercept || d.verdict[protoHTTP] == verdictIntercept
}

// needsNameCheck reports whether the name in a handshake or request matters for a protocol.
// It does not where a rule grants the address itself: that rule grants every name there.
func (d *destination) needsNameCheck(p protocol) bool { return d.named || d.rules[p].Host == "*" }

// addressName returns the host by which rules know an address. 127.0.0.1 and ::1 are
// "localhost" unless a rule names the address.
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
	case policy.AnyNeedsInterception(g.o.Rules, host, scheme, port):
		return verdictIntercept, rule
	case ok:
		return verdictPass, rule
	}
	return verdictDeny, rule
}

// checkAddress reports whether an address may be dialled, and the reason if not.
func (g *Gateway) checkAddress(addr netip.Addr, port int) (reason string, ok bool) {
	own, err := g.o.IsLocal(addr)
	if err != nil {
		return "cannot be compared with this host's own: " + err.Error(), false
	}
	return policy.CheckAddress(g.o.Rules, addr, port, own)
}

// grantedPorts returns the ports on which some protocol to a host is granted.
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

// checkNames decides about the hosts that a handshake or request names. A host of "" means that
// it names no host. why is "" if no host is refused.
func (g *Gateway) checkNames(d *destination, p protocol, hosts []string) (why policy.DenialReason, detail string) {
	for _, host := range hosts {
		name := ""
		if host != "" {
			var err error
			if name, err = policy.NormalizeTarget(host); err != nil {
				return policy.DeniedWrongName, err.Error()
			}
		}
		switch {
		case name == d.host:
		case d.named && !g.grantsAddress(d.to, p) && name == "":
			return policy.DeniedWrongName, "it names no host, over " + p.String()
		case d.named && !g.grantsAddress(d.to, p):
			return policy.DeniedWrongName, "it names " + name
		case name != "":
			// The rule "*" grants this address. The name has to be granted as well, so that
			// a rule that denies the name holds.
			if v, _ := g.evaluate(name, p.scheme(), int(d.to.Port())); v != verdictPass {
				return policy.DeniedWrongName, "it names " + name
			}
		}
	}
	return "", ""
}

// grantsAddress reports whether a protocol to an address is granted, whatever its name.
func (g *Gateway) grantsAddress(to netip.AddrPort, p protocol) bool {
	v, _ := g.evaluate(g.addressName(to.Addr(), int(to.Port())), p.scheme(), int(to.Port()))
	_, ok := g.checkAddress(to.Addr(), int(to.Port()))
	return v == verdictPass && ok
}
