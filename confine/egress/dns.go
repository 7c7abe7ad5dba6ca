package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/net/dns/dnsmessage"
)

const (
	answerTTL  = 30   // seconds
	answerSize = 1232 // that is promised for UDP (EDNS)

	// Below a wildcard any name is granted, and a question tells whoever has the
	// domain what it is. So such names are bounded in length, and new ones in number.
	maxBelow   = 100
	freshBurst = 200
	freshEvery = 200 * time.Millisecond
)

// Answer answers one DNS message; nil is no answer. It can take seconds. A name that
// is not granted does not exist, and asking for it is recorded.
func (g *Gate) Answer(query []byte, tcp bool) []byte {
	var p dnsmessage.Parser
	h, err := p.Start(query)
	if err != nil || h.Response {
		return nil
	}
	m := dnsmessage.Message{Header: dnsmessage.Header{
		ID: h.ID, Response: true, OpCode: h.OpCode, RecursionDesired: h.RecursionDesired, RecursionAvailable: true,
	}}
	questions, err := p.AllQuestions()
	switch {
	case h.OpCode != 0:
		m.RCode = dnsmessage.RCodeNotImplemented
	case err != nil || len(questions) != 1:
		m.RCode = dnsmessage.RCodeFormatError
	case questions[0].Class != dnsmessage.ClassINET:
		m.Questions, m.RCode = questions, dnsmessage.RCodeRefused
	default:
		m.Questions = questions
		m.Answers, m.RCode = g.resolve(questions[0])
		if extended(&p) {
			var opt dnsmessage.ResourceHeader
			if opt.SetEDNS0(answerSize, m.RCode, false) == nil {
				m.Additionals = []dnsmessage.Resource{{Header: opt, Body: &dnsmessage.OPTResource{}}}
			}
		}
	}
	answer, err := m.Pack()
	if err != nil {
		return nil
	}
	return answer
}

// extended reports whether a question has an OPT record, which its answer then has too.
func extended(p *dnsmessage.Parser) bool {
	if p.SkipAllAnswers() != nil || p.SkipAllAuthorities() != nil {
		return false
	}
	for {
		h, err := p.AdditionalHeader()
		if err != nil {
			return false
		}
		if h.Type == dnsmessage.TypeOPT {
			return true
		}
		if p.SkipAdditional() != nil {
			return false
		}
	}
}

// resolve answers a question. Of a name that is granted there is an IPv4 address and
// nothing else: no IPv6 one, so that every connection can be told by its address,
// and no HTTPS record, whose keys would hide the name in a handshake.
func (g *Gate) resolve(q dnsmessage.Question) ([]dnsmessage.Resource, dnsmessage.RCode) {
	name := strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))
	if strings.HasSuffix(name, ".in-addr.arpa") || strings.HasSuffix(name, ".ip6.arpa") {
		return g.reverse(q, name)
	}
	if name == "localhost" || strings.HasSuffix(name, ".localhost") { // RFC 6761
		return local(q), dnsmessage.RCodeSuccess
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
		g.denyName(host, NotGranted, "")
		return nil, dnsmessage.RCodeNameError
	}
	addr, err := g.addressOf(host, ports)
	var refused *refusal
	switch {
	case errors.As(err, &refused):
		g.denyName(host, refused.why, refused.detail)
		if refused.why == TooMany {
			return nil, dnsmessage.RCodeRefused
		}
		return nil, dnsmessage.RCodeNameError
	case notFound(err):
		return nil, dnsmessage.RCodeNameError
	case err != nil:
		return nil, dnsmessage.RCodeServerFailure
	}
	if q.Type != dnsmessage.TypeA {
		return nil, dnsmessage.RCodeSuccess
	}
	return []dnsmessage.Resource{record(q, &dnsmessage.AResource{A: addr.As4()})}, dnsmessage.RCodeSuccess
}

// addressOf returns the address by which the jail is to know a granted name.
func (g *Gate) addressOf(host string, ports []int) (netip.Addr, error) {
	if !g.names.known(host) && !g.lookups.known(host) {
		if err := g.bound(host); err != nil {
			return netip.Addr{}, err
		}
	}
	proxied := g.proxied(host, ports)
	real, err := g.lookupFor(g.ctx, host, proxied)
	var allowed []netip.Addr
	if err == nil {
		if allowed, err = g.checked(real, ports); err != nil {
			return netip.Addr{}, err
		}
	} else if !proxied {
		return netip.Addr{}, err
	}
	addr, ok := g.names.address(host, allowed)
	if !ok {
		return addr, &refusal{TooMany, fmt.Sprintf("%d names are in use", g.o.Limits.Names)}
	}
	return addr, nil
}

// proxied reports whether the host would leave it to a proxy to find a name.
func (g *Gate) proxied(host string, ports []int) bool {
	for _, port := range ports {
		d := destination{host: host, named: true, to: netip.AddrPortFrom(netip.Addr{}, uint16(port))}
		d.verdict[protoTLS], d.rules[protoTLS] = g.judge(host, "https", port)
		if u, err := g.proxyFor(&d); err == nil && u != nil {
			return true
		}
	}
	return false
}

// bound keeps names below a wildcard from being used as a way out by themselves.
func (g *Gate) bound(host string) error {
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
	if below > maxBelow {
		return &refusal{TooMany, fmt.Sprintf("it has %d characters below the wildcard that grants it; %d may be", below, maxBelow)}
	}
	if !g.fresh.take(time.Now()) {
		return &refusal{TooMany, fmt.Sprintf("more than %d new names a second below wildcards", time.Second/freshEvery)}
	}
	return nil
}

func (g *Gate) denyName(name string, why Reason, detail string) {
	g.record(Denial{Host: name, Network: "dns", Why: why, Detail: detail})
}

func record(q dnsmessage.Question, body dnsmessage.ResourceBody) dnsmessage.Resource {
	return dnsmessage.Resource{
		Header: dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: answerTTL},
		Body:   body,
	}
}

func local(q dnsmessage.Question) []dnsmessage.Resource {
	switch q.Type {
	case dnsmessage.TypeA:
		return []dnsmessage.Resource{record(q, &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}})}
	case dnsmessage.TypeAAAA:
		return []dnsmessage.Resource{record(q, &dnsmessage.AAAAResource{AAAA: netip.IPv6Loopback().As16()})}
	}
	return nil
}

// reverse answers for the addresses that the jail was given, and for no others: the
// question does not leave this process.
func (g *Gate) reverse(q dnsmessage.Question, name string) ([]dnsmessage.Resource, dnsmessage.RCode) {
	labels, ok := strings.CutSuffix(name, ".in-addr.arpa")
	parts := strings.Split(labels, ".")
	if !ok || len(parts) != 4 {
		return nil, dnsmessage.RCodeNameError
	}
	var b [4]byte
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 10, 8)
		if err != nil {
			return nil, dnsmessage.RCodeNameError
		}
		b[3-i] = byte(n)
	}
	addr := netip.AddrFrom4(b)
	host, ok := g.names.host(addr)
	if isLocal(addr) {
		host, ok = "localhost", true
	}
	ptr, err := dnsmessage.NewName(host + ".")
	if !ok || err != nil {
		return nil, dnsmessage.RCodeNameError
	}
	if q.Type != dnsmessage.TypePTR {
		return nil, dnsmessage.RCodeSuccess
	}
	return []dnsmessage.Resource{record(q, &dnsmessage.PTRResource{PTR: ptr})}, dnsmessage.RCodeSuccess
}
