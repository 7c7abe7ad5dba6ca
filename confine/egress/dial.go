package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

const (
	dialTimeout = 60 * time.Second       // for all attempts at one destination
	dialStagger = 250 * time.Millisecond // before the next address is tried in parallel (RFC 8305)
)

// refusal is an error that goes on record, in contrast to a failure of the network.
type refusal struct {
	why    policy.DenialReason
	detail string
}

func (r *refusal) Error() string { return reasonTexts[r.why] + ": " + r.detail }

// dial connects to a destination for which some protocol is granted.
func (g *Gateway) dial(ctx context.Context, d *destination) (c *net.TCPConn, err error) {
	done := g.tryHost(d.host, int(d.to.Port()))
	defer func() { done(err) }()
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	proxy, err := g.proxyFor(d)
	if err != nil {
		return nil, err
	}
	addrs, err := g.candidates(ctx, d, proxy != nil)
	var refused *refusal
	switch {
	case errors.As(err, &refused):
		return nil, err
	case proxy != nil: // the proxy may resolve names that this host cannot
		return dialProxy(ctx, proxy, d.host, d.to.Port())
	case err != nil:
		return nil, err
	}
	return g.dialParallel(ctx, addrs)
}

// candidates returns the addresses to dial for a destination, in order of preference.
func (g *Gateway) candidates(ctx context.Context, d *destination, proxied bool) ([]netip.AddrPort, error) {
	if !d.named {
		addrs := []netip.AddrPort{d.to}
		if d.host == "localhost" { // a service may listen on only one of the two
			for _, other := range []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()} {
				if _, ok := g.checkAddress(other, int(d.to.Port())); ok && other != d.to.Addr() {
					addrs = append(addrs, netip.AddrPortFrom(other, d.to.Port()))
				}
			}
		}
		return addrs, nil
	}
	real, err := g.lookupWithin(ctx, d.host, proxied)
	if err != nil {
		return nil, err
	}
	allowed, err := g.allowedAddrs(real, []int{int(d.to.Port())})
	if err != nil {
		return nil, err
	}
	addrs := make([]netip.AddrPort, len(allowed))
	for i, a := range allowed {
		addrs[i] = netip.AddrPortFrom(a, d.to.Port())
	}
	if i := slices.Index(addrs, d.to); i > 0 { // the program's choice goes first
		addrs[0], addrs[i] = addrs[i], addrs[0]
	}
	return addrs, nil
}

// allowedAddrs returns the addresses that may be dialled on one of the ports. If there are
// none, the error is a refusal.
func (g *Gateway) allowedAddrs(addrs []netip.Addr, ports []int) (allowed []netip.Addr, err error) {
	var details []string
	for _, a := range addrs {
		reason, ok := "is not granted", false
		for _, port := range ports {
			if reason, ok = g.checkAddress(a, port); ok {
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

// dialParallel dials the addresses and keeps the first connection. It starts the next attempt
// when one fails or after dialStagger.
func (g *Gateway) dialParallel(ctx context.Context, addrs []netip.AddrPort) (*net.TCPConn, error) {
	if len(addrs) == 1 {
		return g.dialOne(ctx, addrs[0])
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		c   *net.TCPConn
		err error
	}
	results := make(chan result)
	running := 0
	var first error
	var won *net.TCPConn
	stagger := time.NewTimer(0)
	defer stagger.Stop()
	for running > 0 || len(addrs) > 0 && won == nil {
		var due <-chan time.Time
		if len(addrs) > 0 && won == nil {
			due = stagger.C
		}
		select {
		case <-due:
			next := addrs[0]
			addrs = addrs[1:]
			running++
			go func() {
				c, err := g.dialOne(ctx, next)
				results <- result{c, err}
			}()
			stagger.Reset(dialStagger)
		case r := <-results:
			running--
			switch {
			case r.err != nil:
				if first == nil {
					first = r.err
				}
				stagger.Reset(0)
			case won == nil:
				won = r.c
				cancel()
			default:
				r.c.Close()
			}
		}
	}
	if won != nil {
		return won, nil
	}
	return nil, first
}

func (g *Gateway) dialOne(ctx context.Context, addr netip.AddrPort) (*net.TCPConn, error) {
	dialer := net.Dialer{ControlContext: g.checkSocket}
	return dialer.DialTCP(ctx, "tcp", netip.AddrPort{}, addr)
}

// checkSocket checks the address of every socket directly before it is connected, so that
// no unchecked address is dialled.
func (g *Gateway) checkSocket(_ context.Context, _, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if reason, ok := g.checkAddress(to.Addr(), int(to.Port())); !ok {
		return &refusal{policy.DeniedAddress, fmt.Sprintf("%s %s", to.Addr(), reason)}
	}
	return nil
}
