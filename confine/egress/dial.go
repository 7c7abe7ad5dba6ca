package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
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

func isRefusal(err error) bool {
	var no *refusal
	return errors.As(err, &no)
}

// dialer connects to granted hosts.
type dialer struct {
	rules    *ruleSet
	lookups  *lookupCache
	failures *failureLog
	proxy    func(*url.URL) (*url.URL, error)
	startTLS tlsFunc
}

func (v *dialer) dial(ctx context.Context, d *destination) (c Conn, err error) {
	done := v.failures.begin(d.host, int(d.to.Port()))
	defer func() { done(err) }()
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	proxy, err := v.proxyFor(d)
	if err != nil {
		return nil, err
	}
	addrs, err := v.candidates(ctx, d, resolvesNames(proxy))
	var refused *refusal
	switch {
	case errors.As(err, &refused):
		return nil, err
	case err != nil && !resolvesNames(proxy):
		return nil, err
	case proxy != nil:
		return v.dialProxy(ctx, proxy, d, addrs)
	}
	return v.dialParallel(ctx, addrs)
}

func (v *dialer) candidates(ctx context.Context, d *destination, proxied bool) ([]netip.AddrPort, error) {
	if !d.named {
		addrs := []netip.AddrPort{d.to}
		if d.host == "localhost" { // a service may listen on only one of the two
			for _, other := range []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()} {
				if _, ok := v.rules.checkAddress(other, int(d.to.Port())); ok && other != d.to.Addr() {
					addrs = append(addrs, netip.AddrPortFrom(other, d.to.Port()))
				}
			}
		}
		return addrs, nil
	}
	real, err := v.lookups.lookupWithin(ctx, d.host, proxied)
	if err != nil {
		return nil, err
	}
	allowed, err := v.rules.allowedAddrs(real, []int{int(d.to.Port())})
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

// dialParallel dials the addresses and keeps the first connection. It starts the next attempt
// when one fails or after dialStagger.
func (v *dialer) dialParallel(ctx context.Context, addrs []netip.AddrPort) (*net.TCPConn, error) {
	if len(addrs) == 1 {
		return v.dialOne(ctx, addrs[0])
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
	// Every attempt sends its result, so the loop goes on until none is running. The first connection
	// cancels the others, and one that is made all the same is closed.
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
				c, err := v.dialOne(ctx, next)
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

func (v *dialer) dialOne(ctx context.Context, addr netip.AddrPort) (*net.TCPConn, error) {
	n := net.Dialer{ControlContext: v.rules.checkSocket}
	return n.DialTCP(ctx, "tcp", netip.AddrPort{}, addr)
}

const (
	maxFailures = 64
	slowAttempt = time.Second // from then on, an attempt counts as one without an answer
)

// failureLog keeps the latest failure of each granted host and port, until the host is reached.
type failureLog struct {
	life    *lifetime
	mu      sync.Mutex
	failed  []policy.HostFailure // the latest last
	running []*hostAttempt
}

// hostAttempt is a lookup of a granted name (port 0), or a connection to a granted host.
type hostAttempt struct {
	host  string
	port  int
	began time.Time
}

func (l *failureLog) begin(host string, port int) func(error) {
	a := &hostAttempt{host, port, time.Now()}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = append(l.running, a)
	return func(err error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.running = slices.DeleteFunc(l.running, func(o *hostAttempt) bool { return o == a })
		l.failed = slices.DeleteFunc(l.failed, func(f policy.HostFailure) bool { return f.Host == a.host && f.Port == a.port })
		givenUp := errors.Is(err, context.Canceled)
		if err == nil || isRefusal(err) || l.life.jailCtx.Err() != nil || givenUp && time.Since(a.began) < slowAttempt {
			return
		}
		l.failed = append(l.failed, policy.HostFailure{Host: host, Port: port, Answer: hostAnswer(err, port), Time: time.Now()})
		l.failed = l.failed[max(0, len(l.failed)-maxFailures):]
	}
}

// HostFailures returns the granted hosts that could not be reached, and those that have not
// answered yet, the latest last.
func (g *Gateway) HostFailures() []policy.HostFailure {
	l := &g.failures
	l.mu.Lock()
	defer l.mu.Unlock()
	out := slices.Clone(l.failed)
	now := time.Now()
	for _, a := range l.running {
		if now.Sub(a.began) >= slowAttempt {
			out = append(out, policy.HostFailure{Host: a.host, Port: a.port, Answer: noAnswer(a.port), Time: now})
		}
	}
	return out
}

// noAnswer returns the text for a host that does not answer on a port. Port 0 is the DNS.
func noAnswer(port int) string {
	if port == 0 {
		return "the DNS does not answer"
	}
	return "it does not answer"
}

func hostAnswer(err error, port int) string {
	var dns *net.DNSError
	isDNS := errors.As(err, &dns)
	switch {
	case strings.HasPrefix(err.Error(), ofProxy):
		return err.Error()
	case isNotFound(err):
		return "no such host"
	case errors.Is(err, errTooManyLookups):
		return errTooManyLookups.Error()
	case isDNS && dns.IsTimeout:
		return noAnswer(0)
	case isDNS:
		return "the DNS fails: " + dns.Err
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return "there is no route to it"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, syscall.ETIMEDOUT):
		return noAnswer(port)
	}
	return err.Error()
}
