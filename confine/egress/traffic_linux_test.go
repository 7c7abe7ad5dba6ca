package egress

import (
	"io"
	"net"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestTraffic: what passes to a host and from it is counted, and hosts beyond the bound are one.
func TestTraffic(t *testing.T) {
	const up, down = 1 << 20, 3 << 20
	listen(t, "198.51.100.7:1000", func(c *net.TCPConn) {
		io.Copy(io.Discard, c)
		io.WriteString(c, strings.Repeat("y", down))
	})
	g, _ := testGateway(t, map[string][]string{"x.test": {"198.51.100.7"}}, allowPort("x.test", "tcp", 1000))
	g.o.Traffic = &Traffic{}
	at := resolve(t, g, "x.test").String()
	for range 2 {
		got, err := exchange(t, client(t, g, at+":1000"), strings.Repeat("x", up))
		testkit.Must(t, err)
		testkit.Equal(t, "received", len(got), down)
	}
	g.Close()
	testkit.Equal(t, "counted", g.o.Traffic.Hosts(), []policy.HostTraffic{{Host: "x.test", Port: 1000, Connections: 2, Sent: 2 * up, Received: 2 * down}})

	var many Traffic
	for port := range maxHosts + 10 {
		many.count(nil, "x.test", port)
	}
	hosts := many.Hosts()
	testkit.Equal(t, "the rest", hosts[len(hosts)-1], policy.HostTraffic{Host: policy.DenialOthers, Connections: 10})
	testkit.Equal(t, "hosts", len(hosts), maxHosts+1)
}
