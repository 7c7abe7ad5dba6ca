package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"syscall"
)

// Trial is what came of trying a host.
type Trial struct {
	Outcome Outcome
	Addrs   []netip.Addr // that a name has, and that may be dialled
	Proxy   string       // of the host, through which it goes; "" without one
	Detail  string       // in words
}

// Outcome says in a word how a trial went.
type Outcome string

const (
	Answers    Outcome = "answers"   // a connection was made, and ended
	NotFound   Outcome = "not_found" // the name does not exist
	Refuses    Outcome = "refuses"   // nobody listens on the port
	Silent     Outcome = "no_answer" // neither a name's addresses nor a connection in time, or no way there
	BadAddress Outcome = "address"   // no name may lead to the addresses that it has
	Denied     Outcome = "denied"    // no rule allows it, or there is no way to do it here
)

// Try reaches for a host as for a program that has asked for it, until ctx ends.
// Nothing is sent to it, and nothing recorded.
func (g *Gate) Try(ctx context.Context, host string, port int) (t Trial) {
	d := g.destinationOf(host, port)
	if !d.granted() {
		t.Outcome, t.Detail = Denied, d.why.String()
		if d.detail != "" {
			t.Outcome, t.Detail = BadAddress, d.detail
		}
		return t
	}
	proxy, err := g.proxyFor(&d)
	if err == nil {
		if proxy != nil {
			t.Proxy = proxy.Host
		}
		var addrs []netip.AddrPort
		if addrs, err = g.reach(ctx, &d, proxy != nil); proxy != nil && !isRefusal(err) {
			err = nil // the proxy may know better
		}
		for _, a := range addrs {
			if d.named && !slices.Contains(t.Addrs, a.Addr()) {
				t.Addrs = append(t.Addrs, a.Addr())
			}
		}
	}
	var c *net.TCPConn
	if err == nil {
		c, err = g.dial(ctx, &d)
	}
	if err == nil {
		c.Close()
		t.Outcome = Answers
		return t
	}
	t.failed(err)
	return t
}

// destinationOf is where a connection to a host would go that a program asked for by
// its name.
func (g *Gate) destinationOf(host string, port int) destination {
	if host == "localhost" {
		host = "127.0.0.1"
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return g.decide(netip.AddrPortFrom(addr, uint16(port)))
	}
	d := destination{host: host, named: true, why: NotGranted, to: netip.AddrPortFrom(netip.Addr{}, uint16(port))}
	for _, p := range schemes {
		d.verdict[p], d.rules[p] = g.judge(host, p.scheme(), port)
	}
	return d
}

func (t *Trial) failed(err error) {
	var no *refusal
	t.Outcome, t.Detail = Silent, err.Error()
	switch {
	case errors.As(err, &no):
		t.Outcome, t.Detail = Denied, no.detail
		if no.why == Address {
			t.Outcome = BadAddress
		}
	case notFound(err):
		t.Outcome, t.Detail = NotFound, "the name does not exist"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		t.Detail = "no answer in time"
	case errors.Is(err, syscall.ECONNREFUSED):
		t.Outcome, t.Detail = Refuses, "nobody listens there"
	}
}

func isRefusal(err error) bool {
	var no *refusal
	return errors.As(err, &no)
}
