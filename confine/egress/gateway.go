package egress

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/time/rate"

	"github.com/mcp-jail/mcp-jail/confine/egress/asking"
	"github.com/mcp-jail/mcp-jail/confine/egress/front"
	"github.com/mcp-jail/mcp-jail/confine/egress/names"
	"github.com/mcp-jail/mcp-jail/confine/egress/upstream"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Options configure a [Gateway]. An optional field that is not set gets the host's value.
type Options struct {
	Rules  []policy.NetRule // the profile's rules, normalised
	Limits Limits

	// Upstream resolves names on the host. Names come without the final dot. Optional.
	Upstream Resolver
	// Proxy returns the proxy that the host uses for a URL, or nil, like
	// http.Transport.Proxy. The URL has a host and a port, and the scheme https, http or tcp.
	// The default is upstream.FromEnvironment.
	Proxy func(*url.URL) (*url.URL, error)
	// StartTLS is for proxies that are reached by TLS. Without it these fail. EndTLS is called when no connection
	// needs it any more. Optional.
	StartTLS upstream.TLSFunc
	EndTLS   func() error
	// IsLocal reports whether the host itself answers an address. Optional.
	IsLocal func(netip.Addr) (bool, error)
	// Interceptor serves the connections whose requests the rules tell apart. Without an
	// Interceptor, the Gateway refuses these connections.
	Interceptor Interceptor
	// Tell reports a secret in a request that is sent on: see Target.Tell. Optional.
	Tell func(Leak)

	// Ask decides about a name and port that no rule is about, when a program connects to it. The connection
	// waits, for at most two minutes. The answer holds until the end of the Gateway. The addresses of the
	// name are checked as any other's, and nothing is looked up before. Optional.
	Ask func(ctx context.Context, host string, port int) bool
}

// Resolver looks up addresses, as net.Resolver does.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Limits bound the network use of one jail.
type Limits struct {
	Connections int // open at once; 0 means 256. Further connections wait
	Names       int // with an address at once; 0 means 4096
}

const (
	defaultNames = 4096
	dnsPort      = 53
)

// Sockets are descriptors that were opened inside the jail.
type Sockets struct {
	DNS    *net.UDPConn       // [::]:53, with IPV6_RECVPKTINFO
	DNSTCP *net.TCPListener   // [::]:53
	TCP    []*net.TCPListener // one for each of Ports; the local address of a connection is its destination
	// Refused is a packet socket (SOCK_DGRAM, so packets begin at the IP header) that shows
	// the RST and ICMP unreachable packets that the jail's kernel sends. It may be nil. The
	// descriptor must have been in non-blocking mode when the File was made.
	Refused *os.File
}

// Interceptor serves connections to hosts whose rules depend on the request.
type Interceptor interface {
	// Serve takes over conn and returns when the connection has ended. head was already
	// read from conn. dial connects to the checked upstream; Serve may call it repeatedly.
	Serve(conn Conn, head []byte, t Target, dial func(context.Context) (Conn, error))
}

// Conn is a connection of the jail or to a host.
type Conn = upstream.Conn

// Target is the destination of a connection that an Interceptor serves.
type Target struct {
	Name string // as the rules write it
	Port int
	TLS  bool
	Addr netip.AddrPort // the address that the program connected to
	// Deny records a refusal of the connection. It is called before the program is answered.
	Deny func(why policy.DenialReason, detail string)
	// Tell reports a secret in a request that is sent on. It may be nil.
	Tell func(Leak)
	// Connected is called once TLS with a proxy holds, before bytes pass. Only a connection to a proxy has it.
	Connected func()
	// Done is closed when the Gateway ends. The Interceptor must then end the connection.
	Done <-chan struct{}
}

// A Gateway is the host's end of one jail's network. It runs in the launcher's process.
type Gateway struct {
	o              Options
	rules          ruleSet
	names          nameServer
	lookups        lookupCache
	dialer         dialer
	slots          chan struct{} // one element for each open connection
	waiting        atomic.Int64  // connections from Accept that wait for a slot
	querySlots     chan struct{} // one element for each DNS query in progress
	seqpacketSlots chan struct{} // one element for each connection of ServeSeqpacket
	denials        denialLog
	asking         asking.Asker
	failures       failureLog
	front          atomic.Pointer[front.Front]
	life           lifetime

	mu        sync.Mutex
	refusals  []*refusalSocket
	listeners []*net.TCPListener // of connections to hosts
	accepting sync.WaitGroup     // counts their loops
}

// New returns the Gateway of one jail. It starts nothing and opens nothing.
func New(o Options) *Gateway {
	if o.Upstream == nil {
		o.Upstream = hostResolver{&net.Resolver{PreferGo: true}}
	}
	if o.Proxy == nil {
		o.Proxy = upstream.FromEnvironment()
	}
	if o.IsLocal == nil {
		o.IsLocal = isLocal
	}
	if o.Limits.Connections <= 0 {
		o.Limits.Connections = policy.MaxConnections
	}
	if o.Limits.Names <= 0 {
		o.Limits.Names = defaultNames
	}
	o.Rules = slices.Clone(o.Rules)
	g := &Gateway{
		o:              o,
		rules:          ruleSet{isLocal: o.IsLocal},
		slots:          make(chan struct{}, o.Limits.Connections),
		querySlots:     make(chan struct{}, maxQueries),
		seqpacketSlots: make(chan struct{}, maxSeqpacket),
	}
	g.rules.set(o.Rules)
	g.life.begin()
	g.asking.Ask = o.Ask
	g.failures.life = &g.life
	g.lookups = lookupCache{upstream: o.Upstream, life: &g.life, results: map[string]*lookupResult{}}
	g.dialer = dialer{rules: &g.rules, lookups: &g.lookups, failures: &g.failures, proxy: o.Proxy, startTLS: o.StartTLS}
	g.names = nameServer{
		dialer: &g.dialer, fakeIPs: names.NewPool(o.Rules, o.Limits.Names), denials: &g.denials, life: &g.life,
		asks:     o.Ask != nil,
		newNames: rate.NewLimiter(rate.Every(newNameInterval), newNameBurst),
	}
	return g
}

// Close ends the Gateway after its jail has ended. For at most a second it forwards the bytes
// that the jail's programs sent before their end. Then it resets the connections that are left.
// It closes the sockets and waits for all goroutines. Denials stays usable.
func (g *Gateway) Close() {
	g.readRefusals()
	g.mu.Lock()
	listeners := g.listeners
	g.mu.Unlock()
	for _, l := range listeners {
		g.acceptPending(l)
	}
	g.life.endJail()
	for _, l := range listeners {
		l.Close()
	}
	g.accepting.Wait() // afterwards every accepted connection is served or reset
	g.life.end()
	if g.o.EndTLS != nil {
		g.o.EndTLS()
	}
}

// Allowed reports whether a program may try to connect to an address, as far as the address
// alone decides. Port 53 is always allowed, over TCP and UDP, because the Gateway itself
// answers there. Otherwise only network "tcp" is allowed. Allowed records nothing.
func (g *Gateway) Allowed(network string, to netip.AddrPort) bool {
	if to.Port() == dnsPort {
		return true
	}
	if network != "tcp" {
		return false
	}
	d := g.decide(to)
	return d.granted() || g.mayAsk(&d)
}

// Refuse records a refusal that happened outside the Gateway.
func (g *Gateway) Refuse(network string, to netip.AddrPort) {
	d := g.decide(to)
	operation := opConnect
	if network == "udp" {
		operation = opSend
		if d.granted() || policy.IsGroup(to.Addr()) {
			d.why, d.detail = policy.DeniedUnsupported, "only TCP is supported"
		}
	}
	g.denials.record(operation, d.host, int(to.Port()), d.why, d.detail)
}
