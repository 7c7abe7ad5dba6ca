package mediate

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"path"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy"
)

// observer reports refusals of the kernel. It decides nothing: the arguments of a call that continues can
// change until the kernel reads them. The receiver alone uses it.
type observer struct {
	judge   *judge
	args    *reader
	network bool // the network gateway reports refused connections
	own     loopback
}

// exec reports the start of a program that the policy does not allow, or of any if it is refused. What is no
// program is not reported.
func (o *observer) exec(r *Request, refused bool) {
	defer r.close()
	if o.args.read(r) != 0 {
		return
	}
	full, mode, errno := outsideResolver(r).target(r.bases[0], r.names[0], true)
	_, covered := o.judge.profile.Find(full)
	switch {
	case errno != 0 || mode&unix.S_IFMT != unix.S_IFREG:
	case refused || mode&0o111 != 0 && covered && !o.judge.profile.Allows(policy.OpExec, full):
		o.judge.reporter.report(r, policy.AxisProcess, "exec", full, false)
	}
}

func (o *observer) connect(r *Request) {
	b := make([]byte, min(r.arg(2), 128))
	if len(b) < 2 {
		return
	}
	// The kernel refuses an address that it cannot read whole, and connects nowhere.
	if n, errno := sys.ReadMemory(int(r.N.Tid), r.arg(1), b); errno != 0 || n < len(b) {
		return
	}
	switch binary.NativeEndian.Uint16(b) {
	case unix.AF_UNIX:
		name, _, _ := bytes.Cut(b[2:], []byte{0})
		o.socket(r, string(name))
	case unix.AF_INET, unix.AF_INET6:
		addr, ok := sys.ParseSockaddr(b)
		if !ok || o.network || addr.Port() == 0 {
			return
		}
		switch {
		case addr.Addr().IsUnspecified(), addr.Addr().IsLoopback() && addr.Port() != 53:
			if int(r.N.Tid) != o.judge.reporter.Self {
				o.own.connect(r, addr)
			}
		case !addr.Addr().IsLoopback():
			o.judge.reporter.report(r, policy.AxisNet, "connect", addr.String(), false)
		case addr.Port() == 53:
			o.judge.reporter.report(r, policy.AxisNet, "resolve", "", false)
		}
	}
}

// socket reports a UNIX socket that the jail does not have, or a socket of the host in
// a granted directory, which the jail hides.
func (o *observer) socket(r *Request, name string) {
	base := -1
	switch {
	case name == "": // an abstract socket
		return
	case name[0] != '/':
		var errno syscall.Errno
		if base, errno = openBase(int(r.N.Tid), seccomp.AtCwd, 0); errno != 0 {
			return
		}
		defer unix.Close(base)
	case unix.Access(name, unix.F_OK) == unix.ENOENT:
		o.judge.reporter.report(r, policy.AxisIPC, "connect", path.Clean(name), true)
		return
	}
	full, mode, errno := outsideResolver(r).target(base, name, true)
	if e, covered := o.judge.profile.Find(full); errno == 0 && mode != 0 && covered && e.Rights == 0 {
		o.judge.reporter.report(r, policy.AxisIPC, "connect", full, false)
	}
}

// outsideResolver returns a resolver for the caller of a request. The receiver's thread uses it.
func outsideResolver(r *Request) *resolver {
	return &resolver{tid: int(r.N.Tid), open: openOutside, process: func() int { tgid, _, _ := sys.ThreadStatus(int(r.N.Tid)); return tgid }}
}

func isLink(at *pathRef) bool {
	var st unix.Stat_t
	err := unix.Fstatat(at.dir, at.name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK
}

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
	n, err := unix.Getxattr(sys.ThreadFile(int(r.N.Tid), "fd/"+strconv.Itoa(int(int32(r.arg(0))))), "system.sockprotoname", name[:])
	return err == nil && bytes.Contains(name[:n], []byte("TCP")) // TCP, TCPv6, MPTCP, MPTCPv6
}
