package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestUnresolvedHosts checks that a granted name which the host cannot resolve is a failure of the
// host until it resolves, and that a refused name is none.
func TestUnresolvedHosts(t *testing.T) {
	g, upstream := testGateway(t, nil, allow("api.test"))
	look := func(name string) string {
		ask(t, g, name+".", dnsmessage.TypeA)
		g.lookups.results = map[string]*lookupResult{}
		var out []string
		for _, f := range g.HostFailures() {
			out = append(out, fmt.Sprintf("%s:%d %s", f.Host, f.Port, f.Answer))
		}
		return strings.Join(out, "; ")
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, "no such host"},
		{&net.DNSError{Err: "i/o timeout", IsTimeout: true}, "the DNS does not answer"},
		{&net.DNSError{Err: "server misbehaving"}, "the DNS fails: server misbehaving"},
	} {
		upstream.err = c.err
		if got := look("api.test"); got != "api.test:0 "+c.want {
			t.Errorf("%v: %s", c.err, got)
		}
	}
	upstream.err = nil
	upstream.set("api.test", "198.51.100.7")
	testkit.Equal(t, "it resolves", look("api.test"), "")
	if got := look("evil.test"); got != "" || len(g.Denials()) != 1 {
		t.Errorf("a refused name: %s", got)
	}
}

// TestUnreachedHosts checks what a failed connection leaves.
func TestUnreachedHosts(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{&refusal{}, ""},
		{context.Canceled, ""}, // the program gave up at once
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, "connection refused"},
		{&net.OpError{Op: "dial", Err: syscall.ENETUNREACH}, "there is no route to it"},
		{fmt.Errorf("dial: %w", context.DeadlineExceeded), "it does not answer"},
		{fmt.Errorf(ofProxy+"http://p:1: %w", syscall.ECONNREFUSED), "this machine's proxy http://p:1: connection refused"},
		{errors.New("something else"), "something else"},
	} {
		g, _ := testGateway(t, nil, allow("api.test"))
		g.failures.begin("api.test", 443)(syscall.ECONNREFUSED) // the latest counts
		g.failures.begin("api.test", 443)(c.err)
		got := g.HostFailures()
		if c.want == "" && len(got) != 0 || c.want != "" && (len(got) != 1 || got[0].Answer != c.want || got[0].Port != 443) {
			t.Errorf("%v: %+v, want %q", c.err, got, c.want)
		}
	}
	g, _ := testGateway(t, nil, allow("api.test"))
	for port := range 2 * maxFailures {
		g.failures.begin("api.test", port+1)(syscall.ECONNREFUSED)
	}
	if got := g.HostFailures(); len(got) != maxFailures || got[maxFailures-1].Port != 2*maxFailures {
		t.Errorf("%d are kept", len(got))
	}
}

// TestSlowHosts checks that a host is on the list while it does not answer, and when the program
// gives up.
func TestSlowHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Options{})
		done := g.failures.begin("api.test", 443)
		testkit.Empty(t, "at once", g.HostFailures())
		time.Sleep(slowAttempt)
		for range 2 {
			if got := g.HostFailures(); len(got) != 1 || got[0].Answer != "it does not answer" {
				t.Errorf("later: %+v", got)
			}
			done(context.Canceled)
		}
	})
}
