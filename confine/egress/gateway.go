package egress

import (
	"context"
	"io"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpproxy"
	"golang.org/x/time/rate"

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
	Interceptor Interceptor
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

const (
	defaultNames = 4096
	dnsPort      = 53
)

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

// Interceptor sees the requests of connections to hosts with rules about them.
type Interceptor interface {
	// Serve takes over conn, of which head was read already, and returns when it has
	// ended. dial reaches the checked upstream and may be called more than once.
	Serve(conn *net.TCPConn, head []byte, t Target, dial func(context.Context) (*net.TCPConn, error))
	// FlushDenials returns when Deny was called for each refusal that a program can know of
	// by now. It may be called at any time.
	FlushDenials()
}

// Target is where a connection for a Terminator goes.
type Target struct {
	Name string // as the rules have it
	Port int
	TLS  bool
	Addr netip.AddrPort // what the program connected to
	// Sent is told of bytes before they go upstream. It returns false once the session
	// has sent what it may: the connection has to end. It need not be told of less
	// than Step on one connection, until that ends; 0: of nothing until then.
	ReportSent func(n int64) bool
	ReportStep int64
	// Most is what the session may send, for who cannot wait for what Sent says; 0: any.
	MaxBytes int64
	// Deny records a refusal. Host, Port and Network are filled in where empty.
	Deny func(Denial)
	// Done is closed when the Gate ends. The connection has to end then too.
	Done <-chan struct{}
}

// A Gate decides for one jail. It lives in the launcher's process.
type Gateway struct {
	o              Options
	ports          []uint16
	fakeIPs        *fakeIPPool
	lookups        lookupCache
	slots          chan struct{} // one for each connection that is open
	waiting        atomic.Int64  // for one, of those that Accept took
	querySlots     chan struct{} // one for each DNS question that is being answered
	seqpacketSlots chan struct{} // one for each connection of AnswerOn
	newNames       *rate.Limiter // of names below wildcards that were not asked for before
	denials        denialLog
	sent           atomic.Int64

	ownMu    sync.Mutex
	ownAddrs []netip.Addr
	ownAt    time.Time

	jailCtx  context.Context // ends when Close begins
	endJail  context.CancelFunc
	ctx      context.Context // ends with Close
	cancel   context.CancelFunc
	mu       sync.Mutex
	closed   bool
	closers  []io.Closer // at Close
	refusals []*refusalSocket
	serving  sync.WaitGroup // connections
	wg       sync.WaitGroup
}

// New makes the Gate of one jail. It does nothing yet, and holds nothing of the
// system.
func New(o Options) *Gateway {
	if o.Upstream == nil {
		o.Upstream = hostResolver{&net.Resolver{PreferGo: true}}
	}
	if o.Proxy == nil {
		o.Proxy = httpproxy.FromEnvironment().ProxyFunc()
	}
	if o.OwnAddrs == nil {
		o.OwnAddrs = interfaceAddrs
	}
	if o.Limits.Connections <= 0 {
		o.Limits.Connections = policy.DefaultLimits.Connections
	}
	if o.Limits.Names <= 0 {
		o.Limits.Names = defaultNames
	}
	o.Rules = slices.Clone(o.Rules)
	g := &Gateway{
		o: o, ports: Ports(o.Rules),
		fakeIPs:        newFakeIPPool(o.Rules, o.Limits.Names),
		lookups:        lookupCache{upstream: o.Upstream, results: map[string]*lookupResult{}},
		slots:          make(chan struct{}, o.Limits.Connections),
		querySlots:     make(chan struct{}, maxQueries),
		seqpacketSlots: make(chan struct{}, maxSeqpacket),
		newNames:       rate.NewLimiter(rate.Every(newNameInterval), newNameBurst),
	}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	g.jailCtx, g.endJail = context.WithCancel(g.ctx)
	return g
}

// spawn runs f until Close waits for it; false after Close.
func (g *Gateway) spawn(f func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.wg.Go(f)
	return true
}

// spawnServing is start for a connection, which Close gives some time to come to its end.
func (g *Gateway) spawnServing(f func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.serving.Add(1)
	g.wg.Go(func() {
		defer g.serving.Done()
		f()
	})
	return true
}

// closeAtEnd has c closed by Close; at once after it.
func (g *Gateway) closeAtEnd(c io.Closer) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		c.Close()
		return false
	}
	g.closers = append(g.closers, c)
	return true
}

// Close is for when the jail has ended. It passes on what was sent until then, for a
// moment, ends the connections that are left with a reset, closes the sockets and waits
// until nothing of the Gate runs any more. What was refused can still be asked for.
func (g *Gateway) Close() {
	g.readRefusals()
	g.mu.Lock()
	shut := g.closers
	g.closed, g.closers = true, nil
	g.mu.Unlock()
	for _, c := range shut {
		c.Close()
	}
	g.drainAll()
	g.wg.Wait()
}

// Allowed reports whether a connection ("tcp") to an address may be tried, as far
// as that can be told before its first bytes. DNS is the Gate's own, wherever it is
// asked for; nothing else may. It records nothing.
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

// Refuse records an attempt that was refused elsewhere.
func (g *Gateway) Refuse(network string, to netip.AddrPort) {
	d := g.decide(to)
	if network == "udp" && d.granted() {
		d.why, d.detail = ReasonUnsupported, "nothing but TCP is passed on"
	}
	g.record(Denial{Host: d.host, Port: int(to.Port()), Network: network, Why: d.why, Detail: d.detail})
}

// countSent counts bytes that are sent to a host; false where they are too many.
func (g *Gateway) countSent(n int64) bool {
	if g.o.Limits.OutBytes == 0 {
		return true
	}
	return g.sent.Add(n) <= g.o.Limits.OutBytes
}

// A connection may have sent maxStep bytes that are not counted yet, and all of them
// together an eighth of what the session may send. So a session makes no more than
// eight reports for each connection there can be at once, or one for each maxStep.
const (
	maxReportStep  = 256 << 10
	uncountedShare = 8
)

// reportStep is that of Target.
func (g *Gateway) reportStep() int64 {
	if g.o.Limits.OutBytes == 0 {
		return 0
	}
	return min(max(g.o.Limits.OutBytes/uncountedShare/int64(g.o.Limits.Connections), 1), maxReportStep)
}

// isOutSpent reports whether nothing more may be sent.
func (g *Gateway) isOutSpent() bool {
	return g.o.Limits.OutBytes != 0 && g.sent.Load() >= g.o.Limits.OutBytes
}

// Ports are the TCP ports for which a jail needs a listener: those of the rules that
// allow something, without 53, on which the Gate itself answers.
func Ports(rules []policy.NetRule) []uint16 {
	var ports []uint16
	for _, r := range rules {
		if !r.Allow {
			continue
		}
		for _, p := range r.Ports() {
			if p != dnsPort {
				ports = append(ports, uint16(p))
			}
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}
