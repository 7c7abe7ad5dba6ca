package egress

import (
	"net/netip"
	"testing"
)

// TestPoolEviction: a new name takes the place of one that was not used for long, and of no other.
func TestPoolEviction(t *testing.T) {
	p := newNamePool(nil, 2)
	first, _ := p.assign("a.test", []netip.Addr{netip.MustParseAddr("198.51.100.1")})
	p.assign("b.test", nil)
	if addr, ok := p.assign("c.test", nil); ok {
		t.Errorf("one name too many has %s", addr)
	}
	p.byHost["a.test"].used = p.byHost["a.test"].used.Add(-2 * minNameIdle)
	if _, ok := p.assign("c.test", nil); !ok {
		t.Error("no room is made")
	}
	if _, ok := p.host(first); ok || p.has("a.test") {
		t.Error("a name that made room still has its address")
	}
}
