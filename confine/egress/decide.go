package egress

import (
	"fmt"
	"net/netip"

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

func (g *Gateway) decide(to netip.AddrPort) destination {
	addr := to.Addr().WithZone("").Unmap()
	d := destination{to: netip.AddrPortFrom(addr, to.Port()), why: policy.DeniedNotGranted}
	port := int(to.Port())
	if d.host, d.named = g.names.fakeIPs.host(addr); !d.named {
		d.host = g.rules.addressName(addr, port)
	}
	d.opaque = true
	for _, p := range protocols {
		d.verdict[p], d.rules[p] = g.rules.evaluate(d.host, p.scheme(), port)
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
	if reason, ok := g.rules.checkAddress(addr, port); !ok {
		d.verdict, d.opaque, d.detail = [protoOther + 1]verdict{}, false, fmt.Sprintf("%s %s", addr, reason)
	}
	return d
}

func (d *destination) granted() bool { return d.verdict != [protoOther + 1]verdict{} }

func (d *destination) needsInterception() bool {
	return d.verdict[protoTLS] == verdictIntercept || d.verdict[protoHTTP] == verdictIntercept
}

// needsNameCheck reports whether the name in a handshake or request matters for a protocol.
// It does not if a rule grants the address itself: that rule grants every name there.
func (d *destination) needsNameCheck(p protocol) bool { return d.named || d.rules[p].Host == "*" }
