package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

const (
	answerTTL  = 30   // seconds
	answerSize = 1232 // that is promised for UDP (EDNS)

	// Below a wildcard any name is granted, and a question tells whoever has the
	// domain what it is. So such names are bounded in length, and new ones in number.
	maxBelowWildcard = 100
	newNameBurst     = 200
	newNameInterval  = 200 * time.Millisecond
)

// Answer answers one DNS message; nil is no answer. It can take seconds. A name that
// is not granted does not exist, and asking for it is recorded.
func (g *Gateway) Answer(message []byte, tcp bool) []byte {
	q, err := readQuery(message)
	switch {
	case err != nil && err != errMessage || q.flags&flagResponse != 0:
		return nil
	case q.flags&opcodeMask != 0:
		return query{id: q.id, flags: q.flags}.answer(rcodeNotImplemented, nil)
	case err != nil:
		return query{id: q.id, flags: q.flags}.answer(rcodeFormat, nil)
	case q.class != classINET:
		return q.answer(rcodeRefused, nil)
	}
	data, code := g.resolve(q)
	return q.answer(code, data)
}

// resolve answers a question. Of a name that is granted there is an IPv4 address and
// nothing else: no IPv6 one, so that every connection can be told by its address,
// and no HTTPS record, whose keys would hide the name in a handshake.
func (g *Gateway) resolve(q query) (data []byte, code rcode) {
	name := strings.ToLower(q.name)
	if strings.HasSuffix(name, ".in-addr.arpa") || strings.HasSuffix(name, ".ip6.arpa") {
		return g.resolveReverse(q.kind, name)
	}
	if name == "localhost" || strings.HasSuffix(name, ".localhost") { // RFC 6761
		return localhostData(q.kind), rcodeSuccess
	}
	host, err := policy.NormalizeTarget(name)
	var ports []int
	if err == nil {
		ports = g.grantedPorts(host)
	}
	if err != nil {
		host = strconv.Quote(name) // it may hold anything
	}
	if len(ports) == 0 {
		g.denyName(host, ReasonNotGranted, "")
		return nil, rcodeName
	}
	addr, err := g.assignAddress(host, ports)
	var refused *refusal
	switch {
	case errors.As(err, &refused):
		g.denyName(host, refused.why, refused.detail)
		if refused.why == ReasonLimit {
			return nil, rcodeRefused
		}
		return nil, rcodeName
	case isNotFound(err):
		return nil, rcodeName
	case err != nil:
		return nil, rcodeFailure
	}
	if q.kind != typeA {
		return nil, rcodeSuccess
	}
	return addr.AsSlice(), rcodeSuccess
}

// assignAddress returns the address by which the jail is to know a granted name.
func (g *Gateway) assignAddress(host string, ports []int) (netip.Addr, error) {
	if !g.fakeIPs.has(host) && !g.lookups.has(host) {
		if err := g.limitNewName(host); err != nil {
			return netip.Addr{}, err
		}
	}
	proxied := g.usesProxy(host, ports)
	real, err := g.lookupWithin(g.jailCtx, host, proxied)
	var allowed []netip.Addr
	if err == nil {
		if allowed, err = g.allowedAddrs(real, ports); err != nil {
			return netip.Addr{}, err
		}
	} else if !proxied {
		return netip.Addr{}, err
	}
	addr, ok := g.fakeIPs.assign(host, allowed)
	if !ok {
		return addr, &refusal{ReasonLimit, fmt.Sprintf("%d names are in use", g.o.Limits.Names)}
	}
	return addr, nil
}

// usesProxy reports whether the host would leave it to a proxy to find a name.
func (g *Gateway) usesProxy(host string, ports []int) bool {
	for _, port := range ports {
		d := destination{host: host, named: true, to: netip.AddrPortFrom(netip.Addr{}, uint16(port))}
		d.verdict[protoTLS], d.rules[protoTLS] = g.evaluate(host, "https", port)
		if u, err := g.proxyFor(&d); err == nil && u != nil {
			return true
		}
	}
	return false
}

// limitNewName keeps names below a wildcard from being used as a way out by themselves.
func (g *Gateway) limitNewName(host string) error {
	below := len(host)
	for _, r := range g.o.Rules {
		switch suffix, wild := strings.CutPrefix(r.Host, "*"); {
		case !r.Allow:
		case !wild && r.Host == host:
			return nil
		case wild && strings.HasSuffix(host, suffix):
			below = min(below, len(host)-len(suffix))
		}
	}
	if below > maxBelowWildcard {
		return &refusal{ReasonLimit, fmt.Sprintf("it has %d characters below the wildcard that grants it; %d may be", below, maxBelowWildcard)}
	}
	if !g.newNames.Allow() {
		return &refusal{ReasonLimit, fmt.Sprintf("more than %d new names a second below wildcards", time.Second/newNameInterval)}
	}
	return nil
}

func (g *Gateway) denyName(name string, why Reason, detail string) {
	g.record(Denial{Host: name, Network: "dns", Why: why, Detail: detail})
}

func localhostData(kind recordType) []byte {
	switch kind {
	case typeA:
		return []byte{127, 0, 0, 1}
	case typeAAAA:
		return netip.IPv6Loopback().AsSlice()
	}
	return nil
}

// resolveReverse answers for the addresses that the jail was given, and for no others: the
// question does not leave this process.
func (g *Gateway) resolveReverse(kind recordType, name string) (data []byte, code rcode) {
	labels, ok := strings.CutSuffix(name, ".in-addr.arpa")
	parts := strings.Split(labels, ".")
	if !ok || len(parts) != 4 {
		return nil, rcodeName
	}
	var b [4]byte
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 10, 8)
		if err != nil {
			return nil, rcodeName
		}
		b[3-i] = byte(n)
	}
	addr := netip.AddrFrom4(b)
	host, ok := g.fakeIPs.host(addr)
	if isLocalhost(addr) {
		host, ok = "localhost", true
	}
	switch {
	case !ok:
		return nil, rcodeName
	case kind != typePTR:
		return nil, rcodeSuccess
	}
	return packName(host), rcodeSuccess
}
