package gateway

import (
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	planpkg "github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Network is what the launcher has of the network of one jail. The zero value is that of a jail without any.
type Network struct {
	mu      sync.Mutex
	profile *policy.Profile // nil before Open
	gateway *egress.Gateway // nil if no host is granted to a jail without namespaces
	broker  *broker         // nil unless the supervisor makes the server's sockets
	inbound *inbound        // nil if no port leads into the jail
	relays  bool
}

// Options says what Open opens.
type Options struct {
	Plan        *planpkg.Plan
	Control     *os.File        // the socket over which the jail passes its sockets
	Interceptor *Interceptor    // nil if no rule concerns requests
	Run         Runner          // for a proxy that is reached by TLS
	Ports       *Ports          // of the session; nil: this jail is the only one of it
	Traffic     *egress.Traffic // of the session, or nil
	Leak        func(egress.Leak)
	Warn        func(string)
}

// Open receives the sockets that the jail hands over, serves them, and calls goOn. If the
// jail ends before it has handed over all of them, Open returns nil: an event or the exit
// of the jail tells the reason.
func (n *Network) Open(o Options, goOn func()) error {
	network, hostNS := &o.Plan.Spec.Network, o.Plan.Spec.HostNS
	if hostNS && !network.Brokered {
		return nil
	}
	var got passed
	all, err := got.receiveAll(o.Control)
	if err != nil || !all {
		got.close()
	}
	if err != nil {
		return &sys.Error{Step: sys.Network, Errno: sys.Errno(err), Detail: "sockets of the jail"}
	}
	if !all {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	profile := o.Plan.Profile
	n.profile, n.relays = profile, network.Relays()
	n.gateway = New(profile, o.Interceptor, o.Run, egress.Options{Tell: o.Leak, Traffic: o.Traffic})
	if hostNS {
		n.broker = newBroker(got.broker, n.gateway)
	} else {
		n.gateway.Serve(got.Sockets)
	}
	if network.Inbound {
		if o.Ports == nil {
			o.Ports = NewPorts(nil)
		}
		n.inbound = newInbound(o.Control, profile.Inbound, o.Ports, got.inbound, o.Warn)
		n.inbound.begin(!o.Plan.CanWatch())
	}
	goOn()
	return nil
}

// Bind answers spec.EventBind, when the port can be bound.
func (n *Network) Bind(to netip.AddrPort) {
	if in := n.into(); in != nil {
		in.bound(to)
	}
}

// IsInUse reports whether at a port of the jail no program of it may listen, but the launcher, because another
// session of the server has the host's port.
func (n *Network) IsInUse(port int) bool {
	in := n.into()
	return in != nil && in.isInUse(port)
}

func (n *Network) into() *inbound {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.inbound
}

// Relays reports whether connections may be open, whose last bytes Close delivers.
func (n *Network) Relays() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.relays
}

// Close closes the network of a jail whose supervisor has ended, and its interceptor. The recorded refusals stay.
func (n *Network) Close(interceptor *Interceptor) {
	n.mu.Lock()
	gateway, inbound, broker := n.gateway, n.inbound, n.broker
	n.mu.Unlock()
	if broker != nil {
		broker.close()
	}
	var ending sync.WaitGroup
	defer ending.Wait()
	if inbound != nil {
		ending.Go(inbound.close)
	}
	Close(gateway, interceptor)
}

// HostFailures returns the granted hosts that this machine could not reach, the latest last.
func (n *Network) HostFailures() []policy.HostFailure {
	n.mu.Lock()
	gateway := n.gateway
	n.mu.Unlock()
	if gateway == nil {
		return nil
	}
	return gateway.HostFailures()
}

// Denials returns the refusals of the gateway. In a jail with namespaces, a connection to the
// loopback that no rule is about reached no program of the jail, and is not a refusal. Denials
// leaves out refused connections to the jail's inbound ports, too: the launcher makes these before
// the server listens.
func (n *Network) Denials() (denials []policy.Denial, unanswered []policy.Unanswered) {
	n.mu.Lock()
	gateway, profile, hostNS := n.gateway, n.profile, n.broker != nil
	n.mu.Unlock()
	if gateway == nil {
		return nil, nil
	}
	denials = slices.DeleteFunc(gateway.Denials(), func(d policy.Denial) bool {
		host, number, err := net.SplitHostPort(d.Target)
		if err != nil {
			return false
		}
		port, _ := strconv.Atoi(number)
		if a, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !a.IsLoopback()) {
			return false
		}
		if !hostNS && d.Reason == policy.DeniedNotGranted && d.Operation == "connect" &&
			!slices.ContainsFunc(profile.Net, func(r policy.NetRule) bool { return r.Host == host && r.Covers(host, port) }) {
			unanswered = append(unanswered, policy.Unanswered{Host: host, Port: port, Time: d.Time, Last: d.Latest()})
			return true
		}
		return host == "localhost" && slices.Contains(profile.Inbound, port)
	})
	return denials, unanswered
}

// broker is the launcher's end of a jail whose supervisor makes the server's sockets. It puts the
// supervisor's requests to the gateway. A connection of the server arrives as a descriptor. The
// supervisor itself made both ends of that connection, so it cannot be one of another process.
type broker struct {
	socket  *os.File // SOCK_SEQPACKET
	gateway *egress.Gateway
	running sync.WaitGroup
}

// newBroker starts to serve requests on the socket.
func newBroker(socket *os.File, gateway *egress.Gateway) *broker {
	b := &broker{socket: socket, gateway: gateway}
	b.running.Go(b.serve)
	return b
}

// close ends the broker. The supervisor must have ended.
func (b *broker) close() {
	unix.Shutdown(int(b.socket.Fd()), unix.SHUT_RDWR)
	b.running.Wait()
	b.socket.Close()
}

// serve answers requests until the supervisor ends. It blocks a thread, because the server waits
// for the answer and a wake-up by the runtime's poller would take longer.
func (b *broker) serve() {
	fd := int(b.socket.Fd())
	defer unix.Shutdown(fd, unix.SHUT_RDWR) // further requests then fail
	buf, rights := make([]byte, spec.MaxBrokerRequest), make([]byte, unix.CmsgSpace(4))
	for {
		n, size, _, _, err := unix.Recvmsg(fd, buf, rights, unix.MSG_CMSG_CLOEXEC)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return
		}
		fds, _ := sys.ParseRights(rights[:size])
		request, err := spec.DecodeBrokerRequest(buf[:n])
		if err != nil || len(fds) > 1 {
			return // the supervisor never sends this, so all further requests are refused
		}
		answer := byte(spec.AnswerNo)
		if len(fds) == 1 && b.accept(request, os.NewFile(uintptr(fds[0]), "socket of the jail")) || len(fds) == 0 && b.decide(request) {
			answer = spec.AnswerYes
		}
		unix.Write(fd, []byte{answer})
	}
}

// decide reports whether a connection is allowed. It records a refusal before the server can notice it.
func (b *broker) decide(request spec.BrokerRequest) bool {
	network := "udp"
	if request.Kind == spec.RequestConnect {
		network = "tcp"
		if b.gateway.Allowed(network, request.To) {
			return true
		}
	}
	b.gateway.Refuse(network, request.To)
	return false
}

// accept reports whether the gateway takes a socket over.
func (b *broker) accept(request spec.BrokerRequest, f *os.File) bool {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return false
	}
	switch conn := c.(type) {
	case *net.TCPConn:
		if request.Kind == spec.PassTCP {
			b.gateway.Accept(conn, request.To)
			return true
		}
	case *net.UnixConn:
		if request.Kind == spec.PassUDP {
			return b.gateway.ServeSeqpacket(conn)
		}
	}
	c.Close()
	return false
}
