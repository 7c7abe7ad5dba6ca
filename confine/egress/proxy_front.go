package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/confine/egress/front"
	"github.com/mcp-jail/mcp-jail/policy"
)

// NewProxyListeners is [front.Listen].
func NewProxyListeners() (listeners []*net.TCPListener, port int, err error) { return front.Listen() }

// NewProxyPassword is [front.NewPassword].
func NewProxyPassword() string { return front.NewPassword() }

// ProxyVariables is [front.Variables].
func ProxyVariables(port int, password, program string) []policy.Variable {
	return front.Variables(port, password, program)
}

// ServeProxy serves a proxy for programs whose connections the Gateway does not see otherwise: HTTP
// CONNECT, HTTP requests with a whole URL, and SOCKS5. It returns at once and serves until Close. It
// decides as for other connections, but tells a client why it refuses a host, or cannot reach it.
//
// A client needs the password. Programs get it by ProxyVariables.
func (g *Gateway) ServeProxy(listeners []*net.TCPListener, password string) {
	f := front.New(password, g.denyAtProxy)
	g.front.Store(f)
	for _, l := range listeners {
		if g.life.closeAtEnd(l) {
			g.life.spawn(func() { g.acceptClients(l, f) })
		}
	}
}

func (g *Gateway) acceptClients(l *net.TCPListener, f *front.Front) {
	g.accept(l, func(c *net.TCPConn) bool {
		return g.life.spawnServing(func() {
			defer c.Close()
			if client := f.Greet(g.life.jailCtx, c); client != nil {
				g.connect(client)
			}
		})
	})
}

func (g *Gateway) denyAtProxy(host string, port int, why policy.DenialReason, detail string) {
	if d, err := g.destinationFor(host, port); err == nil {
		g.denials.deny(&d, why, detail)
		return
	}
	g.denials.record(opConnect, front.Target, 0, why, detail)
}

// connect decides about what a client of the proxy asks for, and serves it.
func (g *Gateway) connect(c *front.Client) {
	d, err := g.destinationFor(c.Host, c.Port)
	switch {
	case err != nil:
		g.denials.record(opConnect, strconv.Quote(policy.Abbreviate(c.Host)), 0, policy.DeniedNotGranted, err.Error())
		c.Answer(&front.Error{Text: err.Error()})
		return
	case !d.granted():
		g.denials.deny(&d, d.why, d.detail)
		c.Answer(&front.Error{Text: d.ungranted()})
		return
	case !g.queue(&d):
		c.Answer(&front.Error{Text: g.tooManyWait()})
		return
	}
	defer func() { <-g.slots }()
	head := c.Rest
	if err = g.lookUp(&d); err == nil && c.Request != nil {
		head, err = g.checkRequest(&d, c.Request)
		head = append(head, c.Rest...)
	}
	if err != nil {
		g.denials.denyIfRefused(&d, err)
		c.Answer(d.unreached(err))
		return
	}
	defer context.AfterFunc(g.life.ctx, func() { reset(c.Conn) })()
	r := relay{g: g, d: &d, client: c.Conn, head: head, single: c.Request != nil, responded: make(chan struct{})}
	r.tell = func(err error) { c.Answer(d.unreached(err)) }
	r.serve()
}

// queue waits until another connection may be open. It returns false if too many wait.
func (g *Gateway) queue(d *destination) bool {
	defer g.waiting.Add(-1)
	if g.waiting.Add(1) > int64(cap(g.slots)) {
		g.denials.deny(d, policy.DeniedLimit, g.tooManyWait())
		return false
	}
	select {
	case g.slots <- struct{}{}:
		return true
	default:
		return g.awaitSlot(d)
	}
}

// destinationFor decides about a host that a client of the proxy names.
func (g *Gateway) destinationFor(host string, port int) (d destination, err error) {
	name, err := policy.NormalizeTarget(host)
	if err != nil {
		return d, err
	}
	if name == "localhost" || strings.HasSuffix(name, ".localhost") { // RFC 6761
		name = "127.0.0.1"
	}
	if addr, err := netip.ParseAddr(name); err == nil {
		return g.rules.decideAddress(netip.AddrPortFrom(addr, uint16(port))), nil
	}
	return g.rules.decideName(name, netip.AddrPortFrom(netip.Addr{}, uint16(port))), nil
}

// lookUp gives a name its address, under the limits for names.
func (g *Gateway) lookUp(d *destination) error {
	if !d.named {
		return nil
	}
	addr, err := g.names.assignAddress(d.host, g.rules.grantedPorts(d.host))
	d.to = netip.AddrPortFrom(addr, d.to.Port())
	return err
}

// checkRequest checks a request for one URL, whose host is granted, and returns its head for the host.
func (g *Gateway) checkRequest(d *destination, r *front.ProxyRequest) ([]byte, error) {
	if r.TLS {
		return nil, &refusal{policy.DeniedUnsupported, "the program sends an https URL to its proxy, unencrypted, and does not ask for a tunnel (CONNECT), as axios did until May 2026"}
	}
	if d.verdict[protoHTTP] == verdictDeny {
		return nil, &refusal{policy.DeniedWrongScheme, "the connection speaks " + protoHTTP.String()}
	}
	if why, detail := g.rules.checkNames(d, protoHTTP, r.Hosts); why != "" {
		return nil, &refusal{why, detail}
	}
	name, err := policy.NormalizeTarget(r.Hosts[len(r.Hosts)-1])
	return r.Head(err != nil || name != d.host), nil
}

func (d *destination) endpoint() string { return endpoint(d.host, int(d.to.Port())) }

func endpoint(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

// ungranted returns the text for a destination that is not granted.
func (d *destination) ungranted() string {
	option := d.endpoint()
	if port := d.to.Port(); port == 80 || port == 443 {
		option = d.host
	}
	if d.detail != "" {
		return d.endpoint() + " is not granted: " + d.detail
	}
	for _, r := range d.rules {
		if r.Host != "" {
			return d.endpoint() + " is refused by a rule of the policy"
		}
	}
	return d.endpoint() + " is not granted; to grant it: --net " + option
}

// unreached returns what a client is told of an error. The result is nil if there is none.
func (d *destination) unreached(err error) *front.Error {
	e := &front.Error{Kind: front.Unreachable}
	switch {
	case err == nil:
		return nil
	case isRefusal(err):
		return &front.Error{Text: d.endpoint() + " is refused: " + err.Error()}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		e.Kind = front.TimedOut
	}
	e.Text = d.endpoint() + " is granted, but cannot be reached: " + hostAnswer(err, int(d.to.Port()))
	return e
}

// Section is the part of a message that has a field.
type Section = front.Section

// The sections of a message.
const (
	InHeader  = front.InHeader
	InTrailer = front.InTrailer
)

// CheckField is [front.CheckField], for an Interceptor.
func CheckField(name string, in Section) string { return front.CheckField(name, in) }

// CanonicalField is [front.CanonicalField], for an Interceptor.
func CanonicalField(name string) string { return front.CanonicalField(name) }
