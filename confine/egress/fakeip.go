package egress

import (
	"net/netip"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

// fakeIPPool are the names that a jail has been told an address for. Each has one
// address, no two have the same, and a name keeps its own: the address is how a
// connection says which name it is for, whatever the name leads to by then.
//
// That is the name's real IPv4 address where it can be, since some programs refuse to
// connect to what looks like their own host, and one of 127.64.0.0/10 otherwise.
type fakeIPPool struct {
	mu      sync.Mutex
	byHost  map[string]*fakeIP
	byAddr  map[netip.Addr]*fakeIP
	inRules map[netip.Addr]bool // addresses that rules name
	last    uint32              // of 127.64.0.0/10, so far
	max     int
}

type fakeIP struct {
	host string
	addr netip.Addr
	used time.Time
}

const (
	fakeIPBits  = 22               // of 127.64.0.0/10
	minNameIdle = 10 * time.Minute // unused, before another may have its place
	fakeIPBase  = 127<<24 | 64<<16 // 127.64.0.0
)

// reservedPrefixes are addresses that no name can have: they mean something in the jail.
var reservedPrefixes = [...]netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("127.0.0.0/8"),
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("224.0.0.0/3"),
}

func newFakeIPPool(rules []policy.NetRule, max int) *fakeIPPool {
	n := &fakeIPPool{byHost: map[string]*fakeIP{}, byAddr: map[netip.Addr]*fakeIP{}, inRules: map[netip.Addr]bool{}, max: max}
	for _, r := range rules {
		if a, err := netip.ParseAddr(r.Host); err == nil {
			n.inRules[a] = true
		}
	}
	return n
}

// assign returns the address of a name, choosing one of real if it has none yet.
// ok is false when too many names are in use.
func (n *fakeIPPool) assign(host string, real []netip.Addr) (addr netip.Addr, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	if e := n.byHost[host]; e != nil {
		e.used = now
		return e.addr, true
	}
	if len(n.byHost) >= n.max && !n.evict(now) {
		return netip.Addr{}, false
	}
	e := &fakeIP{host: host, used: now}
	for _, a := range real {
		if n.isFree(a) {
			e.addr = a
			break
		}
	}
	if !e.addr.IsValid() {
		e.addr = n.allocate()
	}
	n.byHost[host], n.byAddr[e.addr] = e, e
	return e.addr, true
}

func (n *fakeIPPool) isFree(a netip.Addr) bool {
	if !a.Is4() || n.inRules[a] || n.byAddr[a] != nil {
		return false
	}
	for _, p := range reservedPrefixes {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

// allocate returns an address of 127.64.0.0/10 that no name has: there are more of
// them than names may be.
func (n *fakeIPPool) allocate() netip.Addr {
	for {
		n.last = n.last%(1<<fakeIPBits-2) + 1
		v := fakeIPBase + n.last
		a := netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)})
		if n.byAddr[a] == nil && !n.inRules[a] {
			return a
		}
	}
}

// evict forgets the name that was not used for the longest time, if that is long.
func (n *fakeIPPool) evict(now time.Time) bool {
	var oldest *fakeIP
	for _, e := range n.byHost {
		if oldest == nil || e.used.Before(oldest.used) {
			oldest = e
		}
	}
	if oldest == nil || now.Sub(oldest.used) < minNameIdle {
		return false
	}
	delete(n.byHost, oldest.host)
	delete(n.byAddr, oldest.addr)
	return true
}

// host returns the name that has an address.
func (n *fakeIPPool) host(a netip.Addr) (string, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	e := n.byAddr[a]
	if e == nil {
		return "", false
	}
	e.used = time.Now()
	return e.host, true
}

// has reports whether a name has an address already.
func (n *fakeIPPool) has(host string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.byHost[host] != nil
}
