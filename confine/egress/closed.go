package egress

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/egress/http1"
	"github.com/mcp-jail/mcp-jail/confine/egress/learning"
	"github.com/mcp-jail/mcp-jail/policy"
)

// A closed network gives every name an address of the jail's own, accepts connections, reads how they
// begin, and resets them. Nothing is looked up, dialled or sent.

const (
	closedFirstByte = 500 * time.Millisecond // for a program whose server would speak first
	closedPatience  = 2 * time.Second        // for all of what a connection begins with
	closedDetail    = "the network is closed: what is asked for is recorded, and nothing is sent"
)

var errClosed = errors.New("the network is closed")

// closedResolver looks nothing up.
type closedResolver struct{}

func (closedResolver) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return nil, errClosed
}

// close takes away all by which something could leave.
func (o *Options) close() {
	o.Rules, o.Upstream, o.Interceptor, o.StartTLS, o.Ask = nil, closedResolver{}, nil, nil, nil
	o.Proxy = func(*url.URL) (*url.URL, error) { return nil, errClosed }
}

// WatchedPorts are the ports at which connections are read that no rule is about, in a closed network
// and where Options.Ask may grant them. A connection to another port is refused by the jail's kernel, and
// recorded without what it would have begun with. A listener takes its port from the jail's programs,
// so these are few: those of HTTP.
func WatchedPorts() []uint16 { return []uint16{80, 443, 8443} }

// serveClosed reads how a connection begins, records it and resets it.
func (g *Gateway) serveClosed(c *net.TCPConn, to netip.AddrPort) {
	d := g.decide(to)
	target := d.endpoint()
	head, protocol := readBeginning(c)
	seen := policy.Observation{Refused: true}
	if len(head) > 0 {
		seen.Scheme = protocol.scheme()
	}
	names := []string{}
	switch protocol {
	case protoTLS:
		if name, _, err := clientHello(head); err == nil {
			names = append(names, name)
		}
	case protoHTTP:
		if r, _, err := http1.ParseHead(head); err == nil {
			names = append(names, r.Hosts...)
		}
	}
	// On record before the program notices.
	g.denials.add(opConnect, d.host, int(d.to.Port()), policy.DeniedNotGranted, closedDetail)
	g.observed.Record(opConnect, target, seen)
	for _, name := range slices.Compact(names) {
		// The bytes can name another host than the address does.
		if host, err := policy.NormalizeTarget(name); err == nil && host != d.host {
			g.observed.Record(opConnect, endpoint(host, int(d.to.Port())), seen)
		}
	}
	if request := learning.RequestIn(head); protocol == protoHTTP && request != "" {
		seen.Request = request
		g.observed.Record(opRequest, target, seen)
	}
	reset(c)
}

// readBeginning reads the first bytes of a client, until they tell what they are or it has sent none for
// too long.
func readBeginning(c *net.TCPConn) (head []byte, p protocol) {
	end := time.Now().Add(closedPatience)
	c.SetReadDeadline(time.Now().Add(closedFirstByte))
	b := make([]byte, sniffBuffer)
	for len(head) < maxHead {
		n, err := c.Read(b[:min(len(b), maxHead-len(head))])
		head = append(head, b[:n]...)
		p = sniffProtocol(head)
		switch {
		case err != nil, p == protoOther, p == protoHTTP && bytes.Contains(head, []byte("\n\r\n")):
			return head, p
		case p == protoTLS:
			if _, n, err := clientHello(head); n > 0 || err != nil {
				return head, p
			}
		}
		c.SetReadDeadline(end)
	}
	return head, p
}
