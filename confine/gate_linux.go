package confine

import (
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/policy"
)

// openGate takes the sockets that the shim hands over, has a gate serve them, and
// tells the shim to go on. Where the shim ends instead, it says why on its pipe.
func (p *Process) openGate() error {
	if !p.plan.order.Gate.Open {
		return nil
	}
	sockets, err := receiveSockets(p.control)
	if err != nil {
		return &StartError{Step: stepNetwork, Errno: errnoOf(err), Detail: "sockets of the jail"}
	}
	if sockets == nil {
		return nil
	}
	profile := p.plan.Profile
	gate := egress.New(egress.Options{Rules: gateRules(profile.Net), Limits: egress.Limits{
		Connections: profile.Limits.Connections, OutBytes: int64(profile.Limits.NetOutMB) << 20,
	}})
	p.mu.Lock()
	p.gate = gate
	if sockets.Refused != nil {
		p.packets, _ = unix.FcntlInt(sockets.Refused.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	}
	p.mu.Unlock()
	gate.Serve(*sockets)
	p.control.Write([]byte{1})
	return nil
}

// closeGate ends what the gate does for the jail. What it recorded stays.
func (p *Process) closeGate() {
	p.mu.Lock()
	gate := p.gate
	p.mu.Unlock()
	if gate != nil {
		gate.Close()
	}
}

// receiveSockets returns nil when the shim ended before it had handed over all.
func receiveSockets(control *os.File) (*egress.Sockets, error) {
	s := &egress.Sockets{}
	all, err := receiveAll(control, s)
	if err != nil || !all {
		closeSockets(s)
		return nil, err
	}
	return s, nil
}

func receiveAll(control *os.File, s *egress.Sockets) (all bool, err error) {
	kinds, rights := make([]byte, maxHanded), make([]byte, unix.CmsgSpace(4*maxHanded))
	for {
		n, size, flags, _, err := unix.Recvmsg(int(control.Fd()), kinds, rights, unix.MSG_CMSG_CLOEXEC)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil && err != unix.ECONNRESET:
			return false, err
		case err != nil || n == 0:
			return false, nil
		}
		fds, err := descriptors(rights[:size])
		for i, fd := range fds {
			f := os.NewFile(uintptr(fd), "socket of the jail")
			if err == nil && i < n {
				err = take(s, kinds[i], f)
			}
			if err != nil || kinds[i] != handedRefused {
				f.Close()
			}
		}
		switch {
		case err != nil:
			return false, err
		case flags&unix.MSG_CTRUNC != 0:
			return false, unix.EMFILE
		case kinds[n-1] == handedAll:
			return true, nil
		}
	}
}

func descriptors(control []byte) ([]int, error) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil || len(messages) == 0 {
		return nil, err
	}
	return unix.ParseUnixRights(&messages[0])
}

// take makes f what its kind says. The package net takes a duplicate, but of the
// packet socket it knows nothing.
func take(s *egress.Sockets, kind byte, f *os.File) error {
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
	default:
		return errOrder
	}
	return nil
}

func closeSockets(s *egress.Sockets) {
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
}

// gateDenials are what the gate refused, in the words of a Process.
func gateDenials(g *egress.Gate) (out []Denial) {
	for _, d := range g.Denials() {
		denial := Denial{Axis: policy.AxisNet, Operation: "connect", Target: d.Host, Detail: d.Why.String(), Count: d.Count, Time: d.First}
		switch d.Network {
		case "dns":
			denial.Operation = "resolve"
		case "udp":
			denial.Operation = "send"
		}
		if d.Port != 0 {
			denial.Target = net.JoinHostPort(d.Host, strconv.Itoa(d.Port))
		}
		if d.Detail != "" {
			denial.Detail += ": " + d.Detail
		}
		out = append(out, denial)
	}
	return out
}
