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

// lookups ask the host's resolver, once for all who want to know the same within
// half a minute.
type lookups struct {
	upstream Resolver
	mu       sync.Mutex
	answers  map[string]*answer
	running  int
}

type answer struct {
	done  chan struct{} // closed when the rest is there
	addrs []netip.Addr
	err   error
	until time.Time
}

const (
	lookupKept    = 30 * time.Second
	lookupMissed  = 5 * time.Second // a name that does not exist
	lookupFailed  = time.Second
	lookupTimeout = 10 * time.Second
	lookupProxied = 2 * time.Second
	lookupsAtOnce = 64
	lookupsKept   = 4096
	addrsKept     = 16 // of one name
)

var errBusy = errors.New("too many lookups at once")

// hostResolver is the host's own view of a name: its files and its servers. A
// search list is for names of one part only; it would make others of the rest.
type hostResolver struct{ *net.Resolver }

func (r hostResolver) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	if strings.Contains(host, ".") {
		host += "."
	}
	return r.Resolver.LookupNetIP(ctx, network, host)
}

// lookup returns the addresses of a name. It ends with ctx, the question itself
// with its own time-out, for the next who asks.
func (g *Gate) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	l := &g.lookups
	l.mu.Lock()
	a := l.answers[host]
	if a == nil || a.expired(time.Now()) {
		if l.running >= lookupsAtOnce {
			l.mu.Unlock()
			return nil, errBusy
		}
		l.shrink()
		a = &answer{done: make(chan struct{})}
		if !g.start(func() { l.ask(g.ctx, host, a) }) {
			l.mu.Unlock()
			return nil, net.ErrClosed
		}
		l.answers[host] = a
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

// lookupFor does not wait long where a proxy will find the name if this host cannot.
func (g *Gate) lookupFor(ctx context.Context, host string, proxied bool) ([]netip.Addr, error) {
	patience := lookupTimeout
	if proxied {
		patience = lookupProxied
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return g.lookup(ctx, host)
}

func (a *answer) expired(now time.Time) bool {
	select {
	case <-a.done:
		return now.After(a.until)
	default:
		return false
	}
}

// known reports whether nobody would have to be asked.
func (l *lookups) known(host string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.answers[host]
	return a != nil && !a.expired(time.Now())
}

// shrink makes room for one more.
func (l *lookups) shrink() {
	if len(l.answers) < lookupsKept {
		return
	}
	now := time.Now()
	for host, a := range l.answers {
		if a.expired(now) {
			delete(l.answers, host)
		}
	}
	for host, a := range l.answers {
		if len(l.answers) < lookupsKept {
			return
		}
		select {
		case <-a.done:
			delete(l.answers, host)
		default:
		}
	}
}

func (l *lookups) ask(ctx context.Context, host string, a *answer) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	addrs, err := l.upstream.LookupNetIP(ctx, "ip", host)
	for _, addr := range addrs {
		if len(a.addrs) < addrsKept {
			// net gives every IPv4 address in the form of an IPv6 one. What came in
			// that form from the start is judged as the IPv4 address that it stands for.
			a.addrs = append(a.addrs, addr.Unmap())
		}
	}
	kept := lookupKept
	var dns *net.DNSError
	switch {
	case err == nil && len(a.addrs) == 0:
		a.err, kept = &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}, lookupMissed
	case errors.As(err, &dns) && dns.IsNotFound:
		a.err, kept = err, lookupMissed
	case err != nil:
		a.err, kept = err, lookupFailed
	}
	l.mu.Lock()
	a.until = time.Now().Add(kept)
	l.running--
	l.mu.Unlock()
	close(a.done)
}

func notFound(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) && dns.IsNotFound
}

// own lists the addresses of the host's interfaces. It is the state of the last
// few seconds: asking the kernel costs as much as a connection.
func (g *Gate) own() ([]netip.Addr, error) {
	g.ownMu.Lock()
	defer g.ownMu.Unlock()
	if now := time.Now(); g.ownAddrs == nil || now.Sub(g.ownAt) > 5*time.Second {
		addrs, err := g.o.OwnAddrs()
		if err != nil {
			return nil, err
		}
		g.ownAddrs, g.ownAt = addrs, now
	}
	return g.ownAddrs, nil
}

// interfaceAddrs is what Options.OwnAddrs is when it is not set.
func interfaceAddrs() ([]netip.Addr, error) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	out := make([]netip.Addr, 0, len(addrs))
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok {
			if addr, ok := netip.AddrFromSlice(n.IP); ok {
				out = append(out, addr.Unmap())
			}
		}
	}
	return out, nil
}
