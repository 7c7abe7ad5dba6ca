package mediate

import (
	"bytes"
	"net/netip"
	"strconv"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"golang.org/x/sys/unix"
)

const (
	maxOwnPorts = 256                   // ports of which the state is kept
	sayAgain    = 10 * time.Millisecond // between two events about one port
	maxSaid     = 32                    // events in sayAgain
)

// loopback notes at which ports of the jail's own loopback no program listens when the server
// connects to them. It decides nothing: a listener can come and go until the kernel connects. A port
// at which a program of the jail has listened is the jail's own from then on, and is not looked at
// again. The receiver alone uses it.
type loopback struct {
	say       func(spec.Event)
	listeners sys.Listeners
	ports     map[uint16]*ownPort
	window    time.Time // when the latest sayAgain began
	said      int       // events since then
}

type ownPort struct {
	answered bool      // a program of the jail has listened here
	said     time.Time // the latest event
}

func (l *loopback) connect(r *Request, to netip.AddrPort) {
	p := l.ports[to.Port()]
	if p != nil && p.answered || p == nil && len(l.ports) == maxOwnPorts {
		return
	}
	answered, known := l.listens(to)
	if !known {
		return
	}
	if p == nil {
		if l.ports == nil {
			l.ports = make(map[uint16]*ownPort)
		}
		p = &ownPort{}
		l.ports[to.Port()] = p
	}
	event := spec.Event{Kind: spec.EventUnanswered, Target: to.Addr().String(), Num: int(to.Port())}
	if p.answered = answered; answered {
		if !p.said.IsZero() {
			event.Detail = spec.NowAnswered
			l.say(event)
		}
		return
	}
	// A resolver connects sockets for datagrams to see which addresses it can reach.
	if now := time.Now(); now.Sub(p.said) >= sayAgain && l.maySay(now) && isStream(r) {
		p.said = now
		l.said++
		l.say(event)
	}
}

// maySay reports whether there were fewer than maxSaid events lately: a server can connect to all ports
// in turn, without end.
func (l *loopback) maySay(now time.Time) bool {
	if now.Sub(l.window) >= sayAgain {
		l.window, l.said = now, 0
	}
	return l.said < maxSaid
}

// listens reports whether a program listens at an address, or at its port on the loopback of either
// family, since a server that is given a name tries both.
func (l *loopback) listens(to netip.AddrPort) (yes, known bool) {
	other := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	if to.Addr().Is4() {
		other = netip.IPv6Loopback()
	}
	for _, addr := range []netip.Addr{to.Addr(), other} {
		if yes, known = l.listeners.At(netip.AddrPortFrom(addr, to.Port())); yes || !known {
			return yes, known
		}
	}
	return false, true
}

// isStream reports whether the socket of a call is a TCP socket: the kernel names its protocol.
func isStream(r *Request) bool {
	var name [16]byte
	n, err := unix.Getxattr(proc.ThreadFile(int(r.N.Tid), "fd/"+strconv.Itoa(int(int32(r.arg(0))))), "system.sockprotoname", name[:])
	return err == nil && bytes.Contains(name[:n], []byte("TCP")) // TCP, TCPv6, MPTCP, MPTCPv6
}
