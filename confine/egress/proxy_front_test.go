package egress

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/egress/front"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestUnreached: what a client of the proxy is told of an error, and as which kind.
func TestUnreached(t *testing.T) {
	d := destination{host: "good.test", to: netip.AddrPortFrom(netip.Addr{}, 80)}
	if d.unreached(nil) != nil {
		t.Error("an error of none")
	}
	for _, c := range []struct {
		err  error
		kind front.Kind
		text string
	}{
		{&refusal{policy.DeniedWrongName, "it names twin.test"}, front.Refused, "good.test:80 is refused: "},
		{fmt.Errorf("dial: %w", context.DeadlineExceeded), front.TimedOut, "good.test:80 is granted, but cannot be reached: "},
		{fmt.Errorf("dial: %w", os.ErrDeadlineExceeded), front.TimedOut, "good.test:80 is granted, but cannot be reached: "},
		{errors.New("no route"), front.Unreachable, "good.test:80 is granted, but cannot be reached: "},
	} {
		if got := d.unreached(c.err); got == nil || got.Kind != c.kind || !strings.HasPrefix(got.Text, c.text) {
			t.Errorf("%v: %+v, want kind %d and %q", c.err, got, c.kind, c.text)
		}
	}
}

// TestDenyAtProxy: a refusal is on record for the host that a client of the session names, and for the
// proxy itself if there is none.
func TestDenyAtProxy(t *testing.T) {
	g := New(Options{Rules: []policy.NetRule{{Host: "good.test", Allow: true}}})
	defer g.Close()
	g.denyAtProxy("good.test", 80, policy.DeniedUnsupported, "one")
	g.denyAtProxy("", 0, policy.DeniedNotGranted, "two")
	var got []string
	for _, d := range g.Denials() {
		got = append(got, d.Target+" "+d.Detail)
	}
	if len(got) != 2 || got[0] != "good.test:80 one" || got[1] != front.Target+" two" {
		t.Errorf("got %q", got)
	}
}
