package mediator

import (
	"bytes"
	"net/netip"
	"strconv"
	"sync"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"golang.org/x/sys/unix"
)

// boundAddress returns the address to which a call binds a TCP socket. ok is false for any other bind, also for one
// to a port that the kernel is to choose.
func boundAddress(r *request) (address netip.AddrPort, ok bool) {
	b := make([]byte, min(r.arg(2), 128))
	if len(b) < 2 {
		return address, false
	}
	// The kernel refuses an address that it cannot read whole.
	if n, errno := sys.ReadMemory(int(r.n.Tid), r.arg(1), b); errno != 0 || n < len(b) {
		return address, false
	}
	address, ok = sys.ParseSockaddr(b)
	return address, ok && address.Port() != 0 && isStream(r)
}

// isStream reports whether the socket of a call is a TCP socket: the kernel names its protocol.
func isStream(r *request) bool {
	var name [16]byte
	n, err := unix.Getxattr(sys.ThreadFile(int(r.n.Tid), "fd/"+strconv.Itoa(int(int32(r.arg(0))))), "system.sockprotoname", name[:])
	return err == nil && bytes.Contains(name[:n], []byte("TCP")) // TCP, TCPv6, MPTCP, MPTCPv6
}

// heldBinds are the calls of bind that wait for the launcher, the oldest first. The launcher answers the
// events in their order, so an answer needs no number. A call whose caller has ended stays until its turn.
type heldBinds struct {
	mu    sync.Mutex
	calls []uint64
}

// holdBind tells the launcher of a bind, and lets the call wait: see Bound.
func (m *Mediator) holdBind(call uint64, to netip.AddrPort) {
	m.binds.mu.Lock()
	m.binds.calls = append(m.binds.calls, call)
	m.binds.mu.Unlock()
	m.Reporter.Tell(spec.Event{Kind: spec.EventBind, Target: to.Addr().String(), Num: int(to.Port())})
}

// Bound lets the kernel carry out the oldest bind that waits. The launcher has the port of this machine now, or
// has put a socket into the jail that is in the way.
func (m *Mediator) Bound() {
	m.binds.mu.Lock()
	var call uint64
	if len(m.binds.calls) > 0 {
		call, m.binds.calls = m.binds.calls[0], m.binds.calls[1:]
	}
	m.binds.mu.Unlock()
	m.listener.Continue(call)
}
