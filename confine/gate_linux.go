package confine

import (
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/policy"
)

// openGate takes the sockets that are handed over in a jail, has them served, and tells
// those in there to go on. Where a shim ends instead, it says why on its pipe.
func (p *Process) openGate(goOn func()) error {
	order := &p.plan.order.Gate
	if !order.any() {
		return nil
	}
	var got handed
	all, err := got.receiveAll(p.control)
	if err != nil || !all {
		got.close()
	}
	if err != nil {
		return &StartError{Step: stepNetwork, Errno: errnoOf(err), Detail: "sockets of the jail"}
	}
	if !all {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	profile := p.plan.Profile
	if order.Open {
		if err := p.makeGate(profile); err != nil {
			got.close()
			return err
		}
		if got.Refused != nil {
			p.packets = leaveToKernel(got.Refused)
		}
		p.gate.Serve(got.Sockets)
	}
	if order.Asked {
		if err := p.makeGate(profile); err != nil {
			got.close()
			return err
		}
		p.asks = newAsks(got.asks, p.gate)
	}
	if order.Inbound {
		p.inbound = newInbound(p.control, profile.Inbound, got.spares, func(warning string) { p.remark(Remark{warning, true}) })
	}
	goOn()
	return nil
}

// makeGate makes the gate of a profile.
func (p *Process) makeGate(profile *policy.Profile) error {
	options := egress.Options{Rules: profile.Net, Limits: egress.Limits{
		Connections: profile.Limits.Connections, OutBytes: int64(profile.Limits.NetOutMB) << 20,
	}}
	if p.terminator == nil {
		options.Rules = gateRules(profile.Net)
	} else {
		options.Interceptor = p.terminator
		if err := p.terminator.Ready(); err != nil {
			return &StartError{Step: stepRequests, Errno: errnoOf(err), Detail: err.Error()}
		}
	}
	p.gate = egress.New(options)
	return nil
}

// deafTime is how long mcp-jail-tls may take to read that there is no jail any more.
const deafTime = 200 * time.Millisecond

// closeGate ends what is done for the jail, whose init has ended. What was recorded
// stays.
func (p *Process) closeGate() {
	p.mu.Lock()
	gate, inbound, asks, terminator := p.gate, p.inbound, p.asks, p.terminator
	p.mu.Unlock()
	if asks != nil {
		asks.close()
	}
	var ending sync.WaitGroup
	defer ending.Wait()
	if inbound != nil {
		ending.Go(inbound.close)
	}
	if gate != nil {
		if terminator != nil { // what it is told last must not keep the session from ending
			deaf := time.AfterFunc(deafTime, terminator.Kill)
			defer deaf.Stop()
		}
		gate.Close()
	}
	if terminator != nil {
		terminator.end()
	}
}

// handed is what the shim hands over.
type handed struct {
	egress.Sockets
	spares []*os.File
	asks   *os.File
}

// receiveAll takes sockets up to the shim's last word; all is false where that did
// not come.
func (s *handed) receiveAll(control *os.File) (all bool, err error) {
	for {
		if kind, err := s.receive(control); err != nil || kind == 0 || kind == handedAll {
			return kind == handedAll, err
		}
	}
}

// receive takes what one message holds and returns the last kind in it, 0 at the end.
// The kernel keeps messages with descriptors apart from each other.
func (s *handed) receive(control *os.File) (last byte, err error) {
	kinds, rights := make([]byte, maxHanded), make([]byte, unix.CmsgSpace(4*maxHanded))
	n, size, flags, _, err := unix.Recvmsg(int(control.Fd()), kinds, rights, unix.MSG_CMSG_CLOEXEC)
	for err == unix.EINTR {
		n, size, flags, _, err = unix.Recvmsg(int(control.Fd()), kinds, rights, unix.MSG_CMSG_CLOEXEC)
	}
	switch {
	case err == unix.ECONNRESET:
		return 0, nil
	case err != nil || n == 0:
		return 0, err
	}
	fds, err := descriptors(rights[:size])
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "socket of the jail")
		if err == nil && i < n {
			err = s.take(kinds[i], f)
		}
		if err != nil || kinds[i] != handedRefused && kinds[i] != handedSpare && kinds[i] != handedAsks {
			f.Close()
		}
	}
	if err == nil && flags&unix.MSG_CTRUNC != 0 {
		err = unix.EMFILE
	}
	return kinds[n-1], err
}

// leaveToKernel keeps f open, and has a thread of the kernel close it once what is
// returned is closed, or this process has ended. Whoever closes a packet socket last
// waits for a grace period of RCU, some 10 ms.
//
// It lies in the queue of a socket that lies there itself: when nobody else has that
// any more, the kernel's collector takes all of it away (unix(7); on its own thread
// since Linux 6.9, before that whoever closes the socket waits after all).
func leaveToKernel(f *os.File) (sockets []int) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil // then we wait
	}
	if c, err := f.SyscallConn(); err == nil {
		c.Control(func(fd uintptr) { unix.Sendmsg(pair[1], []byte{0}, unix.UnixRights(pair[0], int(fd)), nil, 0) })
	}
	return pair[:]
}

func descriptors(control []byte) ([]int, error) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil || len(messages) == 0 {
		return nil, err
	}
	return unix.ParseUnixRights(&messages[0])
}

// take makes f what its kind says. The package net takes a duplicate of what it knows.
func (s *handed) take(kind byte, f *os.File) error {
	switch kind {
	case handedDNS:
		c, err := net.FilePacketConn(f)
		if err != nil {
			return err
		}
		s.DNS = c.(*net.UDPConn)
	case handedDNSTCP, handedTCP:
		l, err := net.FileListener(f)
		if err != nil {
			return err
		}
		if kind == handedDNSTCP {
			s.DNSTCP = l.(*net.TCPListener)
			return nil
		}
		s.TCP = append(s.TCP, l.(*net.TCPListener))
	case handedRefused:
		s.Refused = f
	case handedSpare:
		s.spares = append(s.spares, f)
	case handedAsks:
		s.asks = f
	default:
		return errOrder
	}
	return nil
}

func (s *handed) close() {
	if s.DNS != nil {
		s.DNS.Close()
	}
	if s.DNSTCP != nil {
		s.DNSTCP.Close()
	}
	for _, l := range s.TCP {
		l.Close()
	}
	if s.Refused != nil {
		s.Refused.Close()
	}
	for _, f := range s.spares {
		f.Close()
	}
	if s.asks != nil {
		s.asks.Close()
	}
}

// gateDenials are what the gate refused, in the words of a Process.
func gateDenials(g *egress.Gateway, inbound []int) (out []Denial) {
	for _, d := range g.Denials() {
		if d.Host == "localhost" && slices.Contains(inbound, d.Port) {
			continue // we came before the server listened
		}
		denial := Denial{
			Axis: policy.AxisNet, Operation: "connect", Target: d.Host, Reason: policy.DenialReason(d.Why.Code()), Detail: d.Detail,
			Count: d.Count, Time: d.First, Last: d.Last,
		}
		switch d.Network {
		case "dns":
			denial.Operation = "resolve"
		case "udp":
			denial.Operation = "send"
		}
		if d.Port != 0 {
			denial.Target = net.JoinHostPort(d.Host, strconv.Itoa(d.Port))
		}
		out = append(out, denial)
	}
	return out
}
