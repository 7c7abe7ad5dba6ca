package egress

import (
	"context"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestCheck checks that the status of a host is what a program in the jail would meet.
func TestCheck(t *testing.T) {
	l, err := net.Listen("tcp", "198.51.100.7:443")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	full, err := net.Listen("tcp", "127.0.0.1:0") // a proxy that says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	names := map[string][]string{
		"up.example": {"198.51.100.7"}, "mixed.example": {"10.99.0.1", "198.51.100.7"}, "down.example": {"198.51.100.8"},
		"inside.example": {"10.99.0.1", "fd00:99::1"}, "other.example": {"198.51.100.7"},
	}
	rules := []policy.NetRule{
		{Host: "up.example", Allow: true}, {Host: "mixed.example", Scheme: "https", Allow: true}, {Host: "down.example", Allow: true},
		{Host: "inside.example", Allow: true}, {Host: "nowhere.example", Allow: true}, {Host: "198.51.100.7", Allow: true},
		{Host: "localhost", Scheme: "tcp", Port: 9, Allow: true}, {Host: "*", Scheme: "tcp", Port: 7, Allow: true},
	}
	g, _ := testGateway(t, names, rules...)
	proxied := testGatewayWith(t, Options{Rules: rules, Upstream: g.o.Upstream, Proxy: func(*url.URL) (*url.URL, error) { return url.Parse("http://" + full.Addr().String()) }})
	for _, tt := range []struct {
		gate    *Gateway
		host    string
		port    int
		outcome Status
		detail  string
		addrs   int
	}{
		{g, "up.example", 443, StatusConnected, "", 1},
		{g, "up.example", 80, StatusRefused, "nothing listens on the port", 1},
		{g, "mixed.example", 443, StatusConnected, "", 1},
		{g, "mixed.example", 80, StatusDenied, "not granted", 0},
		{g, "down.example", 443, StatusRefused, "nothing listens on the port", 1},
		{g, "inside.example", 443, StatusBadAddress, "10.99.0.1 is a private address, fd00:99::1 is a private address", 0},
		{g, "nowhere.example", 443, StatusNotFound, "the name does not exist", 0},
		{g, "other.example", 443, StatusDenied, "not granted", 0},
		{g, "198.51.100.7", 443, StatusConnected, "", 0},
		{g, "localhost", 9, StatusRefused, "nothing listens on the port", 0},
		{g, "169.254.169.254", 7, StatusBadAddress, "169.254.169.254 is where a cloud serves credentials to its machines", 0},
		{proxied, "up.example", 443, StatusNoAnswer, "no answer in time", 1},
	} {
		timeout := patience
		if tt.outcome == StatusNoAnswer {
			timeout = 300 * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		got := tt.gate.Check(ctx, tt.host, tt.port)
		cancel()
		if got.Status != tt.outcome || got.Detail != tt.detail || len(got.Addrs) != tt.addrs || (got.Proxy != "") != (tt.gate == proxied) {
			t.Errorf("%s:%d: %+v, want %s, %q and %d addresses", tt.host, tt.port, got, tt.outcome, tt.detail, tt.addrs)
		}
	}
	if d := g.Denials(); len(d) > 0 {
		t.Errorf("recorded: %v", d)
	}
}
