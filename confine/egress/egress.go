package egress

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Options are what a Gate needs to know. The zero value of an optional field is
// what the host has.
type Options struct {
	Rules  []policy.NetRule // of the profile: normalised
	Limits Limits

	// Upstream looks names up on the host. Names come without a final dot.
	Upstream Resolver
	// Proxy tells which proxy the host uses for a URL, nil for none, like
	// http.Transport.Proxy. It is asked for connections of scheme https.
	Proxy func(*url.URL) (*url.URL, error)
	// OwnAddrs lists the addresses of the host's interfaces.
	OwnAddrs func() ([]netip.Addr, error)
	// Terminator serves connections whose requests have to be seen. Without one
	// they are refused.
	Terminator Terminator
}

// Resolver looks up addresses, as net.Resolver does.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Limits bound what one jail uses of the network.
type Limits struct {
	Connections int   // open at once; 0: 256. What comes on top waits
	OutBytes    int64 // sent to hosts in the life of the Gate; 0: no limit
	Names       int   // known at once; 0: 4096
}

// Sockets are descriptors that were opened inside of the jail.
type Sockets struct {
	DNS    *net.UDPConn       // [::]:53, with IPV6_RECVPKTINFO
	DNSTCP *net.TCPListener   // [::]:53
	TCP    []*net.TCPListener // for each of Ports: a connection's local address is what the program asked for
	// Refused is a packet socket (SOCK_DGRAM: packets begin at the IP header) that
	// shows the kernel's own RST and ICMP unreachable answers; nil where there is
	// none. It must have been in non-blocking mode when the File was made.
	Refused *os.File
}

// Terminator sees the requests of connections to hosts with rules about them.
type Terminator interface {
	// Serve takes over conn, of which head was read already, and returns when it has
	// ended. dial reaches the checked upstream and may be called more than once.
	Serve(conn *net.TCPConn, head []byte, t Target, dial func(context.Context) (*net.TCPConn, error))
}

// Target is where a connection for a Terminator goes.
type Target struct {
	Name string // as the rules have it
	Port int
	TLS  bool
	Addr netip.AddrPort // what the program connected to
	// Sent is told of bytes that went upstream. It returns false once the session
	// has sent what it may: the connection has to end.
	Sent func(n int64) bool
	// Deny records a refusal. Host, Port and Network are filled in where empty.
	Deny func(Denial)
}

// A Gate decides for one jail. It lives in the launcher's process.
type Gate struct {
	o Options
}

// New makes the Gate of one jail.
func New(o Options) *Gate { return &Gate{o: o} }

// Serve takes over the sockets and returns at once; they are served until Close.
func (g *Gate) Serve(s Sockets) {}

// Accept takes over a connection to a destination that is known some other way than
// from its local address. It returns at once.
func (g *Gate) Accept(c *net.TCPConn, to netip.AddrPort) { c.Close() }

// Answer answers one DNS message; nil is no answer. It can take seconds.
func (g *Gate) Answer(query []byte, tcp bool) []byte { return nil }

// Allowed reports whether a connection ("tcp") or datagram ("udp") to an address may
// be tried. It records nothing.
func (g *Gate) Allowed(network string, to netip.AddrPort) bool { return false }

// Refuse records an attempt that was refused elsewhere.
func (g *Gate) Refuse(network string, to netip.AddrPort) {}

// Denials lists what was refused, oldest first.
func (g *Gate) Denials() []Denial { return nil }

// Close ends everything and waits for it.
func (g *Gate) Close() {}

// Ports are the TCP ports for which a jail needs a listener.
func Ports(rules []policy.NetRule) []uint16 {
	var ports []uint16
	for _, r := range rules {
		if !r.Allow {
			continue
		}
		for _, p := range r.Ports() {
			if p != 53 {
				ports = append(ports, uint16(p))
			}
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}
