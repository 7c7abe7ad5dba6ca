package egress

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/time/rate"

	"github.com/mcp-jail/mcp-jail/policy"
)

const (
	// A wildcard grants every name below it, and a query tells the domain's owner the name.
	// So these names could carry data out. These limits bound their length and rate.
	maxBelowWildcard = 100
	newNameBurst     = 200
	newNameInterval  = 200 * time.Millisecond

	// All lookups of a jail's programs together: one that looks up names without end must not take the
	// processor from mcp-jail. More than these wait.
	queryBurst    = 1000
	queryInterval = time.Millisecond
)

// nameServer resolves names for the jail.
type nameServer struct {
	dialer   *dialer
	fakeIPs  *namePool
	newNames *rate.Limiter // names below wildcards that are asked for the first time
	denials  *denialLog
	life     *lifetime
}

// answer answers one DNS message. It returns nil for a message that gets no answer. It may
// take seconds. A name that is not granted does not exist; Answer records the refusal.
func (g *Gateway) answer(message []byte) []byte {
	q, err := parseQuery(message)
	switch {
	case err != nil && err != errQuestion || q.Response:
		return nil
	case q.OpCode != 0:
		return nameQuery{Header: q.Header}.answer(dnsmessage.RCodeNotImplemented, nil)
	case err != nil:
		return q.answer(dnsmessage.RCodeFormatError, nil)
	case q.Class != dnsmessage.ClassINET:
		return q.answer(dnsmessage.RCodeRefused, nil)
	}
	body, code := g.names.resolve(q.Question)
	return q.answer(code, body)
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
		host = strconv.Quote(printable(name))
	}
	if len(ports) == 0 {
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

// printable returns a name that is no host's, and may hold any byte, in characters that show as they are.
// It is not longer than the name, which has at most 253.
func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' { // the last two have two characters in quotes
			return '?'
		}
		return r
	}, name)
}

// assignAddress returns the address of a name.
func (n *nameServer) assignAddress(host string, ports []int) (netip.Addr, error) {
	if !n.fakeIPs.has(host) && !n.dialer.lookups.has(host) {
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
	addr, ok := n.fakeIPs.assign(host, real)
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
	for _, r := range n.dialer.rules.all {
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
	host, ok := n.fakeIPs.host(addr)
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

// answer is how the response of upstream begins.
type answer int

const (
	answerUnknown answer = iota // more bytes are needed
	answerOther
	answerUpgrade // HTTP/1.1 101
	answerHello   // a ServerHello that asks for no other ClientHello
)

// retryRandom is the random value of a ServerHello that asks for a second ClientHello
// (RFC 8446 4.1.3).
const retryRandom = "\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91" +
	"\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09\xe2\xc8\xa8\x33\x9c"

func readAnswer(b []byte) answer {
	const upgrade = "HTTP/1.1 101"
	switch {
	case len(b) < len(upgrade):
		return answerUnknown
	case string(b[:len(upgrade)]) == upgrade:
		return answerUpgrade
	}
	var message []byte // records may split it
	for rest := b; len(rest) >= tlsRecordHeader; {
		n, body := recordSize(rest), rest[tlsRecordHeader:]
		switch {
		case rest[1] != 3 || rest[0] != recordHandshake && rest[0] != recordAlert:
			return answerOther
		case rest[0] == recordHandshake: // a warning may precede it
			message = append(message, body[:min(n, len(body))]...)
		}
		if random := tlsMessageHeader + 2; len(message) >= random+len(retryRandom) {
			if message[0] != typeServerHello || bytes.HasPrefix(message[random:], []byte(retryRandom)) {
				return answerOther
			}
			return answerHello
		}
		if n > len(body) {
			break
		}
		rest = body[n:]
	}
	if len(b) >= sniffBuffer {
		return answerOther
	}
	return answerUnknown
}

// awaitAnswer waits until the response of upstream shows how it begins. Meanwhile it reads from the
// client, to notice that the client has gone; the server may never respond.
func (r *relay) awaitAnswer(b *bufio.Reader) error {
	due := make(chan struct{})
	go func() {
		<-r.responded
		r.client.SetReadDeadline(time.Unix(1, 0))
		close(due)
	}()
	var err error
	for err == nil {
		_, err = b.Peek(b.Buffered() + 1)
	}
	held := errors.Is(err, bufio.ErrBufferFull) || err == io.EOF && b.Buffered() > 0
	if !held && !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	<-due
	r.client.SetReadDeadline(time.Time{})
	return nil
}

func (r *relay) relayBuffered(b *bufio.Reader) error {
	if _, err := io.CopyN(writerOnly{r.upstream}, b, int64(b.Buffered())); err != nil {
		return err
	}
	return r.relayRest()
}

// answerSize is how many bytes answers may have over UDP (EDNS).
const answerSize = 1232

const answerTTL = 30 // seconds

// errQuestion rejects a DNS message that does not hold exactly one readable question.
var errQuestion = errors.New("not a DNS message with one question")

// nameQuery is a DNS message that asks a question (RFC 1035 4.1).
type nameQuery struct {
	dnsmessage.Header
	dnsmessage.Question
	edns bool // it has an OPT record, so its answer needs one too
}

// parseQuery reads a message. With errQuestion, the header is set.
func parseQuery(b []byte) (q nameQuery, err error) {
	var p dnsmessage.Parser
	if q.Header, err = p.Start(b); err != nil {
		return q, err
	}
	if q.Question, err = p.Question(); err != nil || !isSpelledOut(b) {
		return nameQuery{Header: q.Header}, errQuestion
	}
	if _, err := p.Question(); err != dnsmessage.ErrSectionDone {
		return nameQuery{Header: q.Header}, errQuestion
	}
	q.edns = hasOPT(&p)
	return q, nil
}

// isSpelledOut reports whether the first question spells its name out, without a compression
// pointer. There is no earlier name to which a pointer could lead. b must hold a question.
func isSpelledOut(b []byte) bool {
	at := 12 // length of the header
	for b[at] != 0 && b[at] < 0xc0 {
		at += 1 + int(b[at])
	}
	return b[at] == 0
}

// hasOPT reports whether the message has an OPT record (RFC 6891). It ignores records that
// it cannot read, since they do not change the question.
func hasOPT(p *dnsmessage.Parser) bool {
	if p.SkipAllAnswers() != nil || p.SkipAllAuthorities() != nil {
		return false
	}
	for {
		h, err := p.AdditionalHeader()
		if err != nil {
			return false
		}
		if p.SkipAdditional() != nil {
			return false
		}
		if h.Type == dnsmessage.TypeOPT {
			return true
		}
	}
}

// answer returns the packed answer to q. body is its only record, or nil for none.
func (q nameQuery) answer(code dnsmessage.RCode, body dnsmessage.ResourceBody) []byte {
	m := dnsmessage.Message{Header: dnsmessage.Header{
		ID: q.ID, Response: true, OpCode: q.OpCode, RecursionDesired: q.RecursionDesired, RecursionAvailable: true, RCode: code,
	}}
	if q.Name.Length > 0 {
		m.Questions = []dnsmessage.Question{q.Question}
	}
	if body != nil {
		h := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: answerTTL}
		m.Answers = []dnsmessage.Resource{{Header: h, Body: body}}
	}
	if q.edns {
		var h dnsmessage.ResourceHeader
		h.SetEDNS0(answerSize, dnsmessage.RCodeSuccess, false)
		m.Additionals = []dnsmessage.Resource{{Header: h, Body: &dnsmessage.OPTResource{}}}
	}
	b, err := m.Pack()
	if err != nil {
		return nil // a name that cannot be packed cannot have been asked for
	}
	return b
}
