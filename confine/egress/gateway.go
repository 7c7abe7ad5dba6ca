// Package egress is the host's end of a jail's network. It lets the programs of one jail
// connect to the hosts that the policy grants, and to no others. Package confine opens the
// sockets inside the jail.
//
// # Use
//
//	g := egress.New(egress.Options{Rules: profile.Net})
//	g.Serve(sockets) // opened in the jail's network namespace
//	...
//	g.Close()
//	g.Denials()
//
// A [Gateway] answers the jail's DNS queries, accepts its connections, decides, dials and
// relays. If a jail has no network namespace, confine passes the connections one by one:
// [Gateway.Accept], [Gateway.ServeSeqpacket], [Gateway.Allowed] and [Gateway.Refuse].
//
// # Decisions
//
//	name         A name is looked up only if some rule allows it on some port. Other names
//	             do not exist. Each name gets one address, which identifies it while it is
//	             in use: its real IPv4 address, or one of 127.64.0.0/10.
//	connection   A connection is to the name that has its destination address, or else to
//	             that address. The Gateway resets it if no rule can grant it.
//	dial         The Gateway dials only addresses that [policy.CheckAddress] accepts. It
//	             checks each socket again. Lookups are cached for 30 seconds.
//	first bytes  Except for rules with scheme = "tcp", the first bytes are held back until
//	             they are a TLS handshake with the granted name, an HTTP/1 request to it, or
//	             certainly neither, which port 443 refuses. Bytes from upstream are forwarded
//	             meanwhile. A second ClientHello must have the same name.
//	request      Every cleartext HTTP/1 request is checked, because a connection to one host
//	             can carry requests to another. Requests must be written strictly, so that
//	             all servers read them alike (RFC 9112).
//
// A rule that grants an address or localhost grants every name there. Under the rule "*", a
// name in the first bytes must be granted as well.
//
// A refusal is on record before the program can notice it. A failure is no refusal, for example a
// name that does not exist or a port without a listener. [Gateway.HostFailures] lists the latest
// failures at granted hosts. The program sees a failure as it is, as far as an accepted connection
// can show it.
//
// # The session's proxy
//
// Where a jail has no network namespace and its connections are not passed on, as on macOS, programs
// reach granted hosts through a proxy on the host's loopback: [Gateway.ServeProxy]. It decides by the
// same rules and checks. It speaks HTTP and SOCKS5 and needs the session's password, because every
// user of the machine can connect to it. What a program without the password asks for is neither
// looked up nor on record.
//
// # The host's proxy
//
// If the host has an HTTPS proxy, connections that may be HTTPS go through it, by name. If it has a
// SOCKS proxy, all do. The name's addresses are checked as far as this host can resolve them. The
// proxy may resolve the name to another address, but for one that is asked for the address: see
// DialProxy.
//
// # Proxies of the host
//
// DialProxy connects to a host through a proxy of this host: an HTTP proxy, which is asked
// with CONNECT, one that is itself reached by TLS, or a SOCKS proxy.
//
// A proxy is asked for a name, and resolves it. Only socks5:// is asked for an address, which the
// caller has resolved and checked, as curl(1) does.
//
// # Limits
//
//   - Without an Interceptor, the Gateway cannot see a Host field other than the server name, an
//     encrypted server name (ECH; its keys are not handed out, but a program can bring them), or
//     another name where TLS 1.2 is negotiated again. Some servers refuse such requests.
//   - Data can leave through any granted host, and slowly through lookups below a wildcard:
//     at most 100 characters each, and 5 new names a second after the first 200.
//   - After the first 1,000 lookups of a jail, 1,000 a second are answered. No rule changes that.
//   - TXT, MX, SRV, SVCB, HTTPS and AAAA records do not exist for a jail, but for the AAAA record
//     of localhost. Hosts with only IPv6 addresses can still be reached by name.
//   - A connection whose client has closed its side, and whose server does not, keeps its
//     place among Limits.Connections until one of them ends it.
//   - A line protocol without scheme = "tcp" is held back until the end of its first line if
//     that line could begin an HTTP request.
//   - Except on Linux, the host's own addresses are those of its interfaces, without its other routes.
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

	"github.com/mcp-jail/mcp-jail/confine/egress/front"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/leak"
)

// Options configure a [Gateway]. An optional field that is not set gets the host's value.
type Options struct {
	Rules  []policy.NetRule // the profile's rules, normalised
	Limits limits

	// Upstream resolves names on the host. Names come without the final dot. Optional.
	Upstream resolver
	// Proxy returns the proxy that the host uses for a URL, or nil, like
	// http.Transport.Proxy. The URL has a host and a port, and the scheme https, http or tcp.
	// The default is egress.proxyFromEnvironment.
	Proxy func(*url.URL) (*url.URL, error)
	// StartTLS is for proxies that are reached by TLS. Without it these fail. EndTLS is called when no connection
	// needs it any more. Optional.
	StartTLS tlsFunc
	EndTLS   func() error
	// IsLocal reports whether the host itself answers an address. Optional.
	IsLocal func(netip.Addr) (bool, error)
	// Interceptor serves the connections whose requests the rules tell apart. Without an
	// Interceptor, the Gateway refuses these connections.
	Interceptor Interceptor
	// Tell reports a secret in a request that is sent on: see Target.Tell. Optional.
	Tell func(Leak)
	// Traffic counts the connections. Optional.
	Traffic *Traffic
}

// resolver looks up addresses, as net.Resolver does.
type resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// limits bound the network use of one jail.
type limits struct {
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
	queries        *rate.Limiter // one token for each DNS query
	querySlots     chan struct{} // one element for each DNS query in progress
	seqpacketSlots chan struct{} // one element for each connection of ServeSeqpacket
	denials        denialLog
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
		o.Proxy = proxyFromEnvironment()
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
		rules:          newRuleSet(o.Rules, o.IsLocal),
		slots:          make(chan struct{}, o.Limits.Connections),
		queries:        rate.NewLimiter(rate.Every(queryInterval), queryBurst),
		querySlots:     make(chan struct{}, maxQueries),
		seqpacketSlots: make(chan struct{}, maxSeqpacket),
	}
	g.life.begin()
	g.failures.life = &g.life
	g.lookups = lookupCache{upstream: o.Upstream, life: &g.life, results: map[string]*lookupResult{}}
	g.dialer = dialer{rules: &g.rules, lookups: &g.lookups, failures: &g.failures, proxy: o.Proxy, startTLS: o.StartTLS}
	g.names = nameServer{
		dialer: &g.dialer, fakeIPs: newNamePool(o.Rules, o.Limits.Names), denials: &g.denials, life: &g.life,
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
	return d.granted()
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

// Leaks lists the secrets for which an Interceptor searches requests. The zero value lists none.
type Leaks struct {
	Secrets []leak.Secret // that the jail holds
	Tokens  bool          // search for well-known kinds of tokens too
	Block   bool          // refuse a request with a secret or token
}

// IsZero reports whether there is nothing to look for.
func (l Leaks) IsZero() bool { return len(l.Secrets) == 0 && !l.Tokens }

// Leak is a secret in a request.
type Leak struct {
	Host  string
	Place Place
	Found leak.Found
}

// Place is a part of a request.
type Place string

// Places.
const (
	PlaceURL    Place = "the URL"
	PlaceHeader Place = "a header field"
	PlaceBody   Place = "the body"
)

// IsValid reports whether p is one of the places above.
func (p Place) IsValid() bool { return p == PlaceURL || p == PlaceHeader || p == PlaceBody }
