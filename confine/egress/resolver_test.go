package egress

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// blockedResolver answers no lookup before release is closed.
type blockedResolver struct {
	fakeResolver
	release chan struct{}
}

func (r *blockedResolver) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	select {
	case <-r.release:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return r.fakeResolver.LookupNetIP(ctx, network, host)
}

// TestMaxLookups checks that at most 64 lookups run at once, and that further ones
// fail until one of them has ended.
func TestMaxLookups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &blockedResolver{fakeResolver{names: map[string][]string{"late.test": {"198.51.100.7"}}}, make(chan struct{})}
		g := testGatewayWith(t, Options{Rules: []rule{allow("*.test")}, Upstream: r})
		const limit = 64
		for i := range limit {
			go g.lookups.lookup(t.Context(), fmt.Sprintf("n%d.test", i))
		}
		synctest.Wait()
		testkit.Equal(t, "lookups run", g.lookups.running, limit)
		testkit.Is(t, "one lookup too many", testkit.ErrorOf(g.lookups.lookup(t.Context(), "late.test")), errTooManyLookups)
		if m := ask(t, g, "late.test.", dnsmessage.TypeA); m.RCode != dnsmessage.RCodeServerFailure {
			t.Errorf("the answer to one query too many: %+v", m)
		}
		close(r.release)
		synctest.Wait()
		testkit.Equal(t, "after the others have ended", len(testkit.Get(g.lookups.lookup(t.Context(), "late.test"))(t)), 1)
	})
}
