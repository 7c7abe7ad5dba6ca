package egress

import (
	"os"
	"sync"
	"syscall"
	"time"
)

// refusedPackets reads the packet socket: when something comes, and before somebody
// asks what was refused, so that what a program knows of is on record.
type refusedPackets struct {
	raw syscall.RawConn
	mu  sync.Mutex
	buf [2048]byte
}

// watch has what the kernel refuses in the jail recorded, until f is closed.
func (g *Gate) watch(f *os.File) {
	raw, err := f.SyscallConn()
	if err != nil {
		return
	}
	p := &refusedPackets{raw: raw}
	g.mu.Lock()
	g.refused = append(g.refused, p)
	g.mu.Unlock()
	g.start(func() { p.watch(g) })
}

func (p *refusedPackets) watch(g *Gate) {
	for {
		full := false
		err := p.raw.Read(func(fd uintptr) bool {
			n := p.read(g, int(fd))
			full = n == drainAtOnce
			return n > 0
		})
		if err != nil {
			return
		}
		if full { // a flood costs the jail its packets, not the host its processor
			time.Sleep(5 * time.Millisecond)
		}
	}
}

const drainAtOnce = 64

// read records what is there, without waiting.
func (p *refusedPackets) read(g *Gate, fd int) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for n < drainAtOnce {
		got, _, err := syscall.Recvfrom(fd, p.buf[:], syscall.MSG_DONTWAIT)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return n
		}
		n++
		if network, to, ok := refusedAttempt(p.buf[:got]); ok {
			g.Refuse(network, to)
		}
	}
	return n
}

// drain reads what the packet sockets have got by now.
func (g *Gate) drain() {
	g.mu.Lock()
	refused := g.refused
	g.mu.Unlock()
	for _, p := range refused {
		p.raw.Control(func(fd uintptr) {
			for range 16 {
				if p.read(g, int(fd)) < drainAtOnce {
					return
				}
			}
		})
	}
}
