package egress

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"syscall"

	"github.com/mcp-jail/mcp-jail/policy"
)

// ruleSet decides by the rules of one jail, which do not change.
type ruleSet struct {
	all     []policy.NetRule
	ports   []uint16
	isLocal func(netip.Addr) (bool, error)
}

func newRuleSet(rules []policy.NetRule, isLocal func(netip.Addr) (bool, error)) ruleSet {
	return ruleSet{rules, Ports(rules), isLocal}
}

// Ports returns the TCP ports on which a jail needs a listener: the ports of the rules that
// allow something, without port 53, where the Gateway itself answers.
func Ports(rules []policy.NetRule) []uint16 {
	var ports []uint16
	for _, r := range rules {
		if !r.Allow {
			continue
		}
		for _, p := range r.Ports() {
			if p != dnsPort {
				ports = append(ports, uint16(p))
			}
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// addressName returns the host by which rules know an address. 127.0.0.1 and ::1 are
// "localhost" unless a rule names the address.
func (s *ruleSet) addressName(addr netip.Addr, port int) string {
	name := addr.String()
	if isLocalhost(addr) && !slices.ContainsFunc(s.all, func(r policy.NetRule) bool {
		return r.Host == name && r.Covers(name, port)
	}) {
		return "localhost"
	}
	return name
}

func isLocalhost(a netip.Addr) bool {
	return a == netip.AddrFrom4([4]byte{127, 0, 0, 1}) || a == netip.IPv6Loopback()
}

func (s *ruleSet) evaluate(host, scheme string, port int) (verdict, policy.NetRule) {
	rule, ok := policy.MatchNet(s.all, host, scheme, port, "", "")
	switch {
	case policy.AnyNeedsInterception(s.all, host, scheme, port):
		return verdictIntercept, rule
	case ok:
		return verdictPass, rule
	}
	return verdictDeny, rule
}

func (s *ruleSet) checkAddress(addr netip.Addr, port int) (reason string, ok bool) {
	own, err := s.isLocal(addr)
	if err != nil {
		return "cannot be compared with this machine's own: " + err.Error(), false
	}
	return policy.CheckAddress(s.all, addr, port, own)
}

func (s *ruleSet) grantedPorts(host string) (ports []int) {
	for _, port := range s.ports {
		for _, p := range protocols {
			if v, _ := s.evaluate(host, p.scheme(), int(port)); v == verdictPass || v == verdictIntercept && p != protoOther {
				ports = append(ports, int(port))
				break
			}
		}
	}
	return ports
}

// checkNames decides about the hosts that a handshake or request names. A host of "" means that
// it names no host. why is "" if no host is refused.
func (s *ruleSet) checkNames(d *destination, p protocol, hosts []string) (why policy.DenialReason, detail string) {
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
		case d.named && !s.grantsAddress(d.to, p) && name == "":
			return policy.DeniedWrongName, "it names no host, over " + p.String()
		case d.named && !s.grantsAddress(d.to, p):
			return policy.DeniedWrongName, "it names " + name
		case name != "":
			// The rule "*" grants this address. The name must be granted as well, so that
			// a rule that denies the name holds.
			if v, _ := s.evaluate(name, p.scheme(), int(d.to.Port())); v != verdictPass {
				return policy.DeniedWrongName, "it names " + name
			}
		}
	}
	return "", ""
}

func (s *ruleSet) grantsAddress(to netip.AddrPort, p protocol) bool {
	v, _ := s.evaluate(s.addressName(to.Addr(), int(to.Port())), p.scheme(), int(to.Port()))
	_, ok := s.checkAddress(to.Addr(), int(to.Port()))
	return v == verdictPass && ok
}

// allowedAddrs returns the addresses that may be dialled on one of the ports. If there are
// none, the error is a refusal.
func (s *ruleSet) allowedAddrs(addrs []netip.Addr, ports []int) (allowed []netip.Addr, err error) {
	var details []string
	for _, a := range addrs {
		reason, ok := "is not granted", false
		for _, port := range ports {
			if reason, ok = s.checkAddress(a, port); ok {
				break
			}
		}
		if ok {
			allowed = append(allowed, a)
		} else {
			details = append(details, fmt.Sprintf("%s %s", a, reason))
		}
	}
	if len(allowed) == 0 {
		return nil, &refusal{policy.DeniedAddress, strings.Join(details[:min(len(details), 4)], ", ")}
	}
	return allowed, nil
}

// checkSocket checks the address of every socket directly before it is connected, so that
// no unchecked address is dialled.
func (s *ruleSet) checkSocket(_ context.Context, _, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if reason, ok := s.checkAddress(to.Addr(), int(to.Port())); !ok {
		return &refusal{policy.DeniedAddress, fmt.Sprintf("%s %s", to.Addr(), reason)}
	}
	return nil
}

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
	opaque  bool                           // a rule with scheme = "tcp" allows it, so the bytes do not matter
	anyName [protoOther + 1]bool           // a rule for the address allows it, and so each name there
	rules   [protoOther + 1]policy.NetRule // the deciding rule of each protocol
	why     policy.DenialReason            // set if nothing is granted
	detail  string
}

func (g *Gateway) decide(to netip.AddrPort) destination {
	addr := to.Addr().WithZone("").Unmap()
	to = netip.AddrPortFrom(addr, to.Port())
	if host, ok := g.names.fakeIPs.host(addr); ok {
		return g.rules.decideName(host, to)
	}
	return g.rules.decideAddress(to)
}

// decideName decides about a name. The addresses of a name are checked when it is dialled.
func (s *ruleSet) decideName(host string, to netip.AddrPort) destination {
	d := destination{to: to, host: host, named: true}
	s.judge(&d)
	return d
}

func (s *ruleSet) decideAddress(to netip.AddrPort) destination {
	port := int(to.Port())
	d := destination{to: to, host: s.addressName(to.Addr(), port)}
	s.judge(&d)
	if !d.granted() {
		return d
	}
	if reason, ok := s.checkAddress(to.Addr(), port); !ok {
		d.verdict, d.opaque, d.detail = [protoOther + 1]verdict{}, false, fmt.Sprintf("%s %s", to.Addr(), reason)
	}
	return d
}

// judge sets what the rules decide about the host and port of a destination.
func (s *ruleSet) judge(d *destination) {
	port := int(d.to.Port())
	tcp := s.allows(d.host, protoOther, port, func(r policy.NetRule) bool { return r.Scheme == "tcp" })
	d.opaque, d.why = tcp, policy.DeniedNotGranted
	for _, p := range protocols {
		d.verdict[p], d.rules[p] = s.evaluate(d.host, p.scheme(), port)
		d.opaque = d.opaque && d.verdict[p] == verdictPass
		d.anyName[p] = !d.named && s.allows(d.host, p, port, func(r policy.NetRule) bool { return r.Host != "*" })
	}
	// Bytes that are not HTTP have no requests to decide about. On the port of HTTPS, a server may take
	// for TLS what sniffProtocol does not.
	if d.verdict[protoOther] == verdictIntercept || port == 443 && !tcp {
		d.verdict[protoOther] = verdictDeny
	}
}

// allows reports whether one of some rules allows all that a connection carries, and none refuses it.
func (s *ruleSet) allows(host string, p protocol, port int, some func(policy.NetRule) bool) bool {
	_, ok := policy.MatchNet(slices.DeleteFunc(slices.Clone(s.all), func(r policy.NetRule) bool { return r.Allow && !some(r) }), host, p.scheme(), port, "", "")
	return ok
}

func (d *destination) granted() bool { return d.verdict != [protoOther + 1]verdict{} }

func (d *destination) needsInterception() bool {
	return d.verdict[protoTLS] == verdictIntercept || d.verdict[protoHTTP] == verdictIntercept
}

// needsNameCheck reports whether the name in a handshake or request matters for a protocol.
// It does not if a rule grants the address itself: that rule grants every name there.
func (d *destination) needsNameCheck(p protocol) bool { return !d.anyName[p] }
