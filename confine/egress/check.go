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

// CheckResult is what came of trying a host.
type CheckResult struct {
	Status Status
	Addrs  []netip.Addr // that a name has, and that may be dialled
	Proxy  string       // of the host, through which it goes; "" without one
	Detail string       // in words
}

// Status says in a word how a trial went.
type Status string

const (
	StatusConnected  Status = "answers"   // a connection was made, and ended
	StatusNotFound   Status = "not_found" // the name does not exist
	StatusRefused    Status = "refuses"   // nobody listens on the port
	StatusNoAnswer   Status = "no_answer" // neither a name's addresses nor a connection in time, or no way there
	StatusBadAddress Status = "address"   // no name may lead to the addresses that it has
	StatusDenied     Status = "denied"    // no rule allows it, or there is no way to do it here
)

// Check reaches for a host as for a program that has asked for it, until ctx ends.
// Nothing is sent to it, and nothing recorded.
func (g *Gateway) Check(ctx context.Context, host string, port int) (t CheckResult) {
	d := g.destinationOf(host, port)
	if !d.granted() {
		t.Status, t.Detail = StatusDenied, d.why.String()
		if d.detail != "" {
			t.Status, t.Detail = StatusBadAddress, d.detail
		}
		return t
	}
	proxy, err := g.proxyFor(&d)
	if err == nil {
		if proxy != nil {
			t.Proxy = proxy.Host
		}
		var addrs []netip.AddrPort
		if addrs, err = g.candidates(ctx, &d, proxy != nil); proxy != nil && !isRefusal(err) {
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
		t.Status = StatusConnected
		return t
	}
	t.setError(err)
	return t
}

// destinationOf is where a connection to a host would go that a program asked for by
// its name.
func (g *Gateway) destinationOf(host string, port int) destination {
	if host == "localhost" {
		host = "127.0.0.1"
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return g.decide(netip.AddrPortFrom(addr, uint16(port)))
	}
	d := destination{host: host, named: true, why: ReasonNotGranted, to: netip.AddrPortFrom(netip.Addr{}, uint16(port))}
	for _, p := range protocols {
		d.verdict[p], d.rules[p] = g.evaluate(host, p.scheme(), port)
	}
	return d
}

func (t *CheckResult) setError(err error) {
	var no *refusal
	t.Status, t.Detail = StatusNoAnswer, err.Error()
	switch {
	case errors.As(err, &no):
		t.Status, t.Detail = StatusDenied, no.detail
		if no.why == ReasonAddress {
			t.Status = StatusBadAddress
		}
	case isNotFound(err):
		t.Status, t.Detail = StatusNotFound, "the name does not exist"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		t.Detail = "no answer in time"
	case errors.Is(err, syscall.ECONNREFUSED):
		t.Status, t.Detail = StatusRefused, "nobody listens there"
	}
}

func isRefusal(err error) bool {
	var no *refusal
	return errors.As(err, &no)
}
