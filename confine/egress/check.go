package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"syscall"

	"github.com/mcp-jail/mcp-jail/policy"
)

// CheckResult is the result of [Gateway.Check].
type CheckResult struct {
	Status Status
	Addrs  []netip.Addr // of a name, as far as they may be dialled
	Proxy  string       // host and port of the host's proxy, if one is used
	Detail string       // in words
}

// Status is the result of a check in one word.
type Status string

const (
	StatusConnected  Status = "answers"   // a connection was made and closed
	StatusNotFound   Status = "not_found" // the name does not exist
	StatusRefused    Status = "refuses"   // nothing listens on the port
	StatusNoAnswer   Status = "no_answer" // no address or no connection in time, or no route
	StatusBadAddress Status = "address"   // the name leads to an address that names may not have
	StatusDenied     Status = "denied"    // no rule allows it, or it is not supported here
)

// Check connects to a host as it would for a program in the jail, and closes the connection. It
// sends the host no data. It records no refusal; HostFailures has its failures. It gives up when
// ctx ends.
func (g *Gateway) Check(ctx context.Context, host string, port int) (r CheckResult) {
	d := g.destinationOf(host, port)
	if !d.granted() {
		r.Status, r.Detail = StatusDenied, reasonTexts[d.why]
		if d.detail != "" {
			r.Status, r.Detail = StatusBadAddress, d.detail
		}
		return r
	}
	proxy, err := g.dialer.proxyFor(&d)
	if err == nil {
		if proxy != nil {
			r.Proxy = proxy.Host
		}
		var addrs []netip.AddrPort
		if addrs, err = g.dialer.candidates(ctx, &d, resolvesNames(proxy)); resolvesNames(proxy) && !isRefusal(err) {
			err = nil // the proxy may resolve the name
		}
		for _, a := range addrs {
			if d.named && !slices.Contains(r.Addrs, a.Addr()) {
				r.Addrs = append(r.Addrs, a.Addr())
			}
		}
	}
	var c *net.TCPConn
	if err == nil {
		c, err = g.dialer.dial(ctx, &d)
	}
	if err == nil {
		c.Close()
		r.Status = StatusConnected
		return r
	}
	r.setError(err)
	return r
}

func (g *Gateway) destinationOf(host string, port int) destination {
	if host == "localhost" {
		host = "127.0.0.1"
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return g.decide(netip.AddrPortFrom(addr, uint16(port)))
	}
	return g.rules.decideName(host, netip.AddrPortFrom(netip.Addr{}, uint16(port)))
}

func (r *CheckResult) setError(err error) {
	var no *refusal
	r.Status, r.Detail = StatusNoAnswer, err.Error()
	switch {
	case errors.As(err, &no):
		r.Status, r.Detail = StatusDenied, no.detail
		if no.why == policy.DeniedAddress {
			r.Status = StatusBadAddress
		}
	case isNotFound(err):
		r.Status, r.Detail = StatusNotFound, "the name does not exist"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		r.Detail = "no answer in time"
	case errors.Is(err, syscall.ECONNREFUSED):
		r.Status, r.Detail = StatusRefused, "nothing listens on the port"
	}
}

func isRefusal(err error) bool {
	var no *refusal
	return errors.As(err, &no)
}
