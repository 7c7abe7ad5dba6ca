package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// lookupCache asks the host's resolver and keeps the results for lookupTTL. Concurrent
// lookups of one name share a query.
type lookupCache struct {
	upstream resolver
	life     *lifetime
	mu       sync.Mutex
	results  map[string]*lookupResult
	running  int
}

type lookupResult struct {
	done  chan struct{} // closed when the other fields are set
	addrs []netip.Addr
	err   error
	until time.Time
}

const (
	lookupTTL            = 30 * time.Second
	missingTTL           = 5 * time.Second // of a name that does not exist
	failedTTL            = time.Second
	lookupTimeout        = 10 * time.Second
	proxiedLookupTimeout = 2 * time.Second
	maxLookups           = 64
	maxCachedLookups     = 4096
	maxAddrs             = 16 // of one name
)

var errTooManyLookups = errors.New("too many lookups at once")

// hostResolver resolves names as the host does, by its files and servers. It appends the
// final dot to names with several labels, so that the host's search list is not applied.
type hostResolver struct{ *net.Resolver }

func (r hostResolver) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	if strings.Contains(host, ".") {
		host += "."
	}
	return r.Resolver.LookupNetIP(ctx, network, host)
}

// lookup returns the addresses of a name. If ctx ends first, the query goes on until its own
// time-out and serves the next caller.
func (l *lookupCache) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	l.mu.Lock()
	a := l.results[host]
	// The first caller starts the query. Callers that come before its end wait for its result.
	if a == nil || a.expired(time.Now()) {
		if l.running >= maxLookups {
			l.mu.Unlock()
			return nil, errTooManyLookups
		}
		l.makeRoom()
		a = &lookupResult{done: make(chan struct{})}
		if !l.life.spawn(func() { l.resolve(l.life.ctx, host, a) }) {
			l.mu.Unlock()
			return nil, net.ErrClosed
		}
		l.results[host] = a
		l.running++
	}
	l.mu.Unlock()
	select {
	case <-a.done:
		return a.addrs, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *lookupCache) lookupWithin(ctx context.Context, host string, proxied bool) ([]netip.Addr, error) {
	patience := lookupTimeout
	if proxied {
		patience = proxiedLookupTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return l.lookup(ctx, host)
}

func (a *lookupResult) expired(now time.Time) bool {
	select {
	case <-a.done:
		return now.After(a.until)
	default:
		return false
	}
}

func (l *lookupCache) has(host string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.results[host]
	return a != nil && !a.expired(time.Now())
}

func (l *lookupCache) makeRoom() {
	if len(l.results) < maxCachedLookups {
		return
	}
	now := time.Now()
	for host, a := range l.results {
		if a.expired(now) {
			delete(l.results, host)
		}
	}
	for host, a := range l.results {
		if len(l.results) < maxCachedLookups {
			return
		}
		select {
		case <-a.done:
			delete(l.results, host)
		default:
		}
	}
}

func (l *lookupCache) resolve(ctx context.Context, host string, a *lookupResult) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	addrs, err := l.upstream.LookupNetIP(ctx, "ip", host)
	for _, addr := range addrs {
		if len(a.addrs) < maxAddrs {
			// net.Resolver returns IPv4 addresses in IPv6 form. An address that the DNS had
			// in that form is checked as the IPv4 address that it contains.
			a.addrs = append(a.addrs, addr.Unmap())
		}
	}
	kept := lookupTTL
	var dns *net.DNSError
	switch {
	case err == nil && len(a.addrs) == 0:
		a.err, kept = &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}, missingTTL
	case errors.As(err, &dns) && dns.IsNotFound:
		a.err, kept = err, missingTTL
	case err != nil:
		a.err, kept = err, failedTTL
	}
	l.mu.Lock()
	a.until = time.Now().Add(kept)
	l.running--
	l.mu.Unlock()
	close(a.done)
}

func isNotFound(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) && dns.IsNotFound
}
