package gateway

import (
	"context"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
)

// Ports are the ports of this machine's loopback that lead into the jails of one session. Such a port is taken
// when a program in a jail binds it, and belongs to the session: a connection goes to the process that bound the
// port first and, when that has ended, to the next.
//
// The sessions of one server tell each other what they have taken, by locks in a file that no jail has: a session
// locks the byte of a port after it has begun to listen there, and unlocks it before it ends that. So at a port
// whose byte is locked, a session of this server listens, and no other program.
type Ports struct {
	locks func() (*os.File, error) // opens the file; nil: there is none
	slots chan struct{}            // one element for each connection, at most spec.MaxInbound

	mu    sync.Mutex
	taken map[netip.AddrPort]*takenPort
}

// NewPorts returns the ports of a session that has none yet. locks opens the file that all sessions of the server
// have for their locks. With nil, this session knows of no other.
func NewPorts(locks func() (*os.File, error)) *Ports {
	return &Ports{locks: locks, slots: make(chan struct{}, spec.MaxInbound), taken: make(map[netip.AddrPort]*takenPort)}
}

// takenPort is a port of this machine that the session has. Ports.mu guards by.
type takenPort struct {
	listener *net.TCPListener
	lock     *os.File // nil: the port could not be locked
	by       []*inbound
	cancel   context.CancelFunc
	running  sync.WaitGroup
}

// take takes addresses of this machine for a process, all or none. An address that this machine does not have
// needs not be taken.
func (p *Ports) take(in *inbound, addresses ...netip.AddrPort) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if in.ctx.Err() != nil {
		return nil // it has ended: release comes, or has been
	}
	made := make(map[netip.AddrPort]*takenPort)
	for _, at := range addresses {
		if p.taken[at] != nil {
			continue
		}
		t, err := p.listen(at)
		if t != nil {
			made[at] = t
		}
		if errno := sys.Errno(err); err != nil && errno != unix.EADDRNOTAVAIL && errno != unix.EAFNOSUPPORT {
			for _, t := range made {
				t.close()
			}
			return err
		}
	}
	for at, t := range made {
		p.taken[at] = t
		var ctx context.Context
		ctx, t.cancel = context.WithCancel(context.Background())
		t.running.Go(func() {
			p.accept(ctx, t.listener, &t.running, func(c *net.TCPConn) { p.serve(t, c, int(at.Port())) })
		})
	}
	for _, at := range addresses {
		if t := p.taken[at]; t != nil && !slices.Contains(t.by, in) {
			t.by = append(t.by, in)
		}
	}
	return nil
}

// listen listens at an address, and locks its byte. Sessions do so one after the other: who finds an address taken
// by another session finds its byte locked.
func (p *Ports) listen(at netip.AddrPort) (*takenPort, error) {
	lock := p.openLocks()
	if lock != nil {
		setLock(lock, unix.F_OFD_SETLKW, unix.F_WRLCK, turn)
		defer setLock(lock, unix.F_OFD_SETLK, unix.F_UNLCK, turn)
	}
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
	if err != nil {
		lock.Close()
		return nil, err
	}
	if lock != nil && setLock(lock, unix.F_OFD_SETLK, unix.F_WRLCK, lockOf(at)) != nil {
		lock.Close()
		lock = nil
	}
	return &takenPort{listener: l, lock: lock}, nil
}

// close gives the address back to this machine.
func (t *takenPort) close() {
	t.lock.Close()
	t.listener.Close()
	if t.cancel != nil {
		t.cancel()
	}
}

// release takes a process that has ended off all ports.
func (p *Ports) release(in *inbound) {
	var over []*takenPort
	p.mu.Lock()
	for at, t := range p.taken {
		if t.by = slices.DeleteFunc(t.by, func(other *inbound) bool { return other == in }); len(t.by) == 0 {
			delete(p.taken, at)
			t.close()
			over = append(over, t)
		}
	}
	p.mu.Unlock()
	for _, t := range over {
		t.running.Wait()
	}
}

// accept serves the connections of a listener until ctx ends. A new one waits while the session has
// spec.MaxInbound of them.
func (p *Ports) accept(ctx context.Context, l *net.TCPListener, running *sync.WaitGroup, serve func(*net.TCPConn)) {
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	defer l.Close()
	for {
		select {
		case p.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		c, err := l.AcceptTCP()
		if err != nil {
			<-p.slots
			if ctx.Err() != nil {
				return
			}
			time.Sleep(100 * time.Millisecond) // for instance EMFILE
			continue
		}
		running.Go(func() {
			defer func() { <-p.slots }()
			defer c.Close()
			serve(c)
		})
	}
}

// serve joins a connection to the first process that listens.
func (p *Ports) serve(t *takenPort, c *net.TCPConn, port int) {
	var tried []*inbound
	for in := p.next(t, tried); in != nil; in = p.next(t, tried) {
		served := in.serve(c, port)
		in.running.Done()
		if served {
			return
		}
		tried = append(tried, in)
	}
	reset(c) // as a port without a listener does
}

// next returns the first process of a port that was not tried yet, or nil. The process does not close before
// the caller has called running.Done.
func (p *Ports) next(t *takenPort, tried []*inbound) *inbound {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, in := range t.by {
		if !slices.Contains(tried, in) {
			in.running.Add(1)
			return in
		}
	}
	return nil
}

// Elsewhere reports whether a port leads to another session of this server.
func (p *Ports) Elsewhere(port int) bool {
	return slices.ContainsFunc(loopback(port), p.isElsewhere)
}

func (p *Ports) isElsewhere(at netip.AddrPort) bool {
	p.mu.Lock()
	own := p.taken[at] != nil
	p.mu.Unlock()
	return !own && p.isLocked(at)
}

// isLocked reports whether a session of this server listens at an address.
func (p *Ports) isLocked(at netip.AddrPort) bool {
	f := p.openLocks()
	if f == nil {
		return false
	}
	defer f.Close()
	lock := unix.Flock_t{Type: unix.F_RDLCK, Start: lockOf(at), Len: 1} // in the way is only the lock of a writer
	return unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &lock) == nil && lock.Type != unix.F_UNLCK
}

// openLocks opens the file of locks. It returns nil if there is none: then no other session is known.
func (p *Ports) openLocks() *os.File {
	if p.locks == nil {
		return nil
	}
	f, err := p.locks()
	if err != nil {
		return nil
	}
	return f
}

// turn is the byte that a session locks while it takes a port.
const turn = 0

// lockOf returns the byte of an address of the loopback.
func lockOf(at netip.AddrPort) int64 {
	if at.Addr().Is4() {
		return int64(at.Port())
	}
	return 1<<16 + int64(at.Port())
}

func setLock(f *os.File, how int, kind int16, at int64) error {
	for {
		err := unix.FcntlFlock(f.Fd(), how, &unix.Flock_t{Type: kind, Start: at, Len: 1})
		if err != unix.EINTR {
			return err
		}
	}
}

// loopback returns a port at both addresses of the loopback.
func loopback(port int) []netip.AddrPort {
	return []netip.AddrPort{netip.AddrPortFrom(localIPv4, uint16(port)), netip.AddrPortFrom(netip.IPv6Loopback(), uint16(port))}
}

var localIPv4 = netip.AddrFrom4([4]byte{127, 0, 0, 1})
