package egress

import (
	"net/netip"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

// namePool assigns an address to each name that a jail has resolved. Each name has one
// address, and no two names share one. A name keeps its address while it is in use, so the
// address of a connection identifies the name, whatever the name resolves to by then.
//
// The address is the name's real IPv4 address where possible, because some programs refuse
// to connect to an address that looks like their own host. Otherwise the pool allocates an
// address of 127.64.0.0/10.
type namePool struct {
	mu      sync.Mutex
	byHost  map[string]*entry
	byAddr  map[netip.Addr]*entry
	inRules map[netip.Addr]bool // addresses that rules name
	last    uint32              // offset in 127.64.0.0/10 of the last allocated address
	Max     int                 // names with an address at once
}

type entry struct {
	host string
	addr netip.Addr
	used time.Time
}

const (
	poolBits    = 22               // bits of an offset in 127.64.0.0/10
	minNameIdle = 10 * time.Minute // unused for this long, a name may be evicted
	poolBase    = 127<<24 | 64<<16 // 127.64.0.0
)

// reservedPrefixes are addresses with a meaning of their own in the jail. No name gets one.
var reservedPrefixes = [...]netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("127.0.0.0/8"),
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("224.0.0.0/3"),
}

// newNamePool returns a pool for at most max names. No name gets an address that a rule names.
func newNamePool(rules []policy.NetRule, max int) *namePool {
	n := &namePool{byHost: map[string]*entry{}, byAddr: map[netip.Addr]*entry{}, inRules: map[netip.Addr]bool{}, Max: max}
	for _, r := range rules {
		if a, err := netip.ParseAddr(r.Host); err == nil {
			n.inRules[a] = true
		}
	}
	return n
}

// assign returns the address of a name. A new name gets one of real, or an allocated one.
// ok is false if too many names are in use.
func (n *namePool) assign(host string, real []netip.Addr) (addr netip.Addr, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	if e := n.byHost[host]; e != nil {
		e.used = now
		return e.addr, true
	}
	if len(n.byHost) >= n.Max && !n.evict(now) {
		return netip.Addr{}, false
	}
	e := &entry{host: host, used: now}
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

func (n *namePool) isFree(a netip.Addr) bool {
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

// allocate returns an address of 127.64.0.0/10 that no name has. There are more of these
// addresses than names, so the loop ends.
func (n *namePool) allocate() netip.Addr {
	for {
		n.last = n.last%(1<<poolBits-2) + 1
		v := poolBase + n.last
		a := netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)})
		if n.byAddr[a] == nil && !n.inRules[a] {
			return a
		}
	}
}

func (n *namePool) evict(now time.Time) bool {
	var oldest *entry
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
func (n *namePool) host(a netip.Addr) (string, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	e := n.byAddr[a]
	if e == nil {
		return "", false
	}
	e.used = time.Now()
	return e.host, true
}

// has reports whether a name has an address.
func (n *namePool) has(host string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.byHost[host] != nil
}
