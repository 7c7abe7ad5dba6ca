package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/time/rate"

	"github.com/mcp-jail/mcp-jail/confine/egress/names"
	"github.com/mcp-jail/mcp-jail/policy"
)

const (
	// A wildcard grants every name below it, and a query tells the domain's owner the name.
	// So these names could carry data out. These limits bound their length and rate.
	maxBelowWildcard = 100
	newNameBurst     = 200
	newNameInterval  = 200 * time.Millisecond
)

// nameServer resolves names for the jail.
type nameServer struct {
	dialer   *dialer
	fakeIPs  *names.Pool
	newNames *rate.Limiter // names below wildcards that are asked for the first time
	denials  *denialLog
	life     *lifetime
	asks     bool // each name that no rule is about has an address, and is not looked up
}

// Answer answers one DNS message. It returns nil for a message that gets no answer. It may
// take seconds. A name that is not granted does not exist; Answer records the refusal.
func (g *Gateway) Answer(message []byte) []byte {
	q, err := names.ParseQuery(message)
	switch {
	case err != nil && err != names.ErrQuestion || q.Response:
		return nil
	case q.OpCode != 0:
		return names.Query{Header: q.Header}.Answer(dnsmessage.RCodeNotImplemented, nil)
	case err != nil:
		return q.Answer(dnsmessage.RCodeFormatError, nil)
	case q.Class != dnsmessage.ClassINET:
		return q.Answer(dnsmessage.RCodeRefused, nil)
	}
	body, code := g.names.resolve(q.Question)
	return q.Answer(code, body)
}

// resolve answers a question. A granted name has one IPv4 address and no other record. It
// has no IPv6 address because the IPv4 address identifies the name of a connection. It has
// no HTTPS record because that can hold keys which encrypt the name in a handshake (ECH).
func (n *nameServer) resolve(q dnsmessage.Question) (dnsmessage.ResourceBody, dnsmessage.RCode) {
	name := strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))
	if strings.HasSuffix(name, ".in-addr.arpa") || strings.HasSuffix(name, ".ip6.arpa") {
		return n.resolveReverse(q.Type, name)
	}
	if name == "localhost" || strings.HasSuffix(name, ".localhost") { // RFC 6761
		return resolveLocalhost(q.Type), dnsmessage.RCodeSuccess
	}
	host, err := policy.NormalizeTarget(name)
	var ports []int
	if err == nil {
		ports = n.dialer.rules.grantedPorts(host)
	}
	if err != nil {
		host = strconv.Quote(name) // it may hold any byte
	}
	unasked := err == nil && len(ports) == 0 && n.asks && !isAddress(host)
	if len(ports) == 0 && !unasked {
		n.denials.denyName(host, policy.DeniedNotGranted, "")
		return nil, dnsmessage.RCodeNameError
	}
	addr, err := n.assignAddress(host, ports)
	var refused *refusal
	switch {
	case errors.As(err, &refused):
		n.denials.denyName(host, refused.why, refused.detail)
		if refused.why == policy.DeniedLimit {
			return nil, dnsmessage.RCodeRefused
		}
		return nil, dnsmessage.RCodeNameError
	case isNotFound(err):
		return nil, dnsmessage.RCodeNameError
	case err != nil:
		return nil, dnsmessage.RCodeServerFailure
	}
	if q.Type != dnsmessage.TypeA {
		return nil, dnsmessage.RCodeSuccess
	}
	return &dnsmessage.AResource{A: addr.As4()}, dnsmessage.RCodeSuccess
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// assignAddress returns the address of a name. A name that is granted on no port is not looked up.
func (n *nameServer) assignAddress(host string, ports []int) (netip.Addr, error) {
	if len(ports) == 0 && n.asks {
		return n.assign(host, nil)
	}
	if !n.fakeIPs.Has(host) && !n.dialer.lookups.has(host) {
		if err := n.limitNewName(host); err != nil {
			return netip.Addr{}, err
		}
	}
	proxied := n.usesProxy(host, ports)
	done := func(error) {} // the proxy may resolve the name
	if !proxied {
		done = n.dialer.failures.begin(host, 0)
	}
	real, err := n.dialer.lookups.lookupWithin(n.life.jailCtx, host, proxied)
	done(err)
	var allowed []netip.Addr
	if err == nil {
		if allowed, err = n.dialer.rules.allowedAddrs(real, ports); err != nil {
			return netip.Addr{}, err
		}
	} else if !proxied {
		return netip.Addr{}, err
	}
	return n.assign(host, allowed)
}

func (n *nameServer) assign(host string, real []netip.Addr) (netip.Addr, error) {
	addr, ok := n.fakeIPs.Assign(host, real)
	if !ok {
		return addr, &refusal{policy.DeniedLimit, fmt.Sprintf("%d names are in use", n.fakeIPs.Max)}
	}
	return addr, nil
}

func (n *nameServer) usesProxy(host string, ports []int) bool {
	for _, port := range ports {
		d := destination{host: host, named: true, to: netip.AddrPortFrom(netip.Addr{}, uint16(port))}
		d.verdict[protoTLS], d.rules[protoTLS] = n.dialer.rules.evaluate(host, "https", port)
		if u, err := n.dialer.proxyFor(&d); resolvesNames(u) && err == nil {
			return true
		}
	}
	return false
}

// limitNewName bounds names below a wildcard in length and rate: see maxBelowWildcard.
func (n *nameServer) limitNewName(host string) error {
	below := len(host)
	for _, r := range n.dialer.rules.all() {
		switch suffix, wild := strings.CutPrefix(r.Host, "*"); {
		case !r.Allow:
		case !wild && r.Host == host:
			return nil
		case wild && strings.HasSuffix(host, suffix):
			below = min(below, len(host)-len(suffix))
		}
	}
	if below > maxBelowWildcard {
		return &refusal{policy.DeniedLimit, fmt.Sprintf("it has %d characters below the wildcard that grants it; %d may be", below, maxBelowWildcard)}
	}
	if !n.newNames.Allow() {
		return &refusal{policy.DeniedLimit, fmt.Sprintf("more than %d new names a second below wildcards", time.Second/newNameInterval)}
	}
	return nil
}

func resolveLocalhost(kind dnsmessage.Type) dnsmessage.ResourceBody {
	switch kind {
	case dnsmessage.TypeA:
		return &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}}
	case dnsmessage.TypeAAAA:
		return &dnsmessage.AAAAResource{AAAA: netip.IPv6Loopback().As16()}
	}
	return nil
}

// resolveReverse answers PTR questions about addresses that the jail was given. All other
// addresses have no name. The question does not leave this process.
func (n *nameServer) resolveReverse(kind dnsmessage.Type, name string) (dnsmessage.ResourceBody, dnsmessage.RCode) {
	labels, ok := strings.CutSuffix(name, ".in-addr.arpa")
	parts := strings.Split(labels, ".")
	if !ok || len(parts) != 4 {
		return nil, dnsmessage.RCodeNameError
	}
	var b [4]byte
	// The labels are the bytes of the address in reverse order (RFC 1035, 3.5).
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 10, 8)
		if err != nil {
			return nil, dnsmessage.RCodeNameError
		}
		b[3-i] = byte(n)
	}
	addr := netip.AddrFrom4(b)
	host, ok := n.fakeIPs.Host(addr)
	if isLocalhost(addr) {
		host, ok = "localhost", true
	}
	switch {
	case !ok:
		return nil, dnsmessage.RCodeNameError
	case kind != dnsmessage.TypePTR:
		return nil, dnsmessage.RCodeSuccess
	}
	target, err := dnsmessage.NewName(host + ".")
	if err != nil {
		return nil, dnsmessage.RCodeServerFailure
	}
	return &dnsmessage.PTRResource{PTR: target}, dnsmessage.RCodeSuccess
}
