package egress

import (
	"os"
	"sync"
	"syscall"
	"time"
)

// refusalSocket reads a packet socket that shows the jail's kernel refusing packets. It reads as
// packets arrive, and before Denials returns, so that Denials includes each refusal that a program
// has noticed.
type refusalSocket struct {
	raw syscall.RawConn
	mu  sync.Mutex
	buf [2048]byte
}

func (g *Gateway) watchRefusals(f *os.File) {
	raw, err := f.SyscallConn()
	if err != nil {
		return
	}
	p := &refusalSocket{raw: raw}
	g.mu.Lock()
	g.refusals = append(g.refusals, p)
	g.mu.Unlock()
	g.life.spawn(func() { p.watch(g) })
}

func (p *refusalSocket) watch(g *Gateway) {
	for {
		full := false
		err := p.raw.Read(func(fd uintptr) bool {
			n := p.read(g, int(fd))
			full = n == maxPacketsPerRead
			return n > 0
		})
		if err != nil {
			return
		}
		if full { // a flood of packets loses packets instead of using up the processor
			time.Sleep(5 * time.Millisecond)
		}
	}
}

const maxPacketsPerRead = 64

func (p *refusalSocket) read(g *Gateway, fd int) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for n < maxPacketsPerRead {
		got, _, err := syscall.Recvfrom(fd, p.buf[:], syscall.MSG_DONTWAIT)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return n
		}
		n++
		if network, to, ok := parseRefusal(p.buf[:got]); ok {
			g.Refuse(network, to)
		}
	}
	return n
}

func (g *Gateway) readRefusals() {
	g.mu.Lock()
	refused := g.refusals
	g.mu.Unlock()
	for _, p := range refused {
		p.raw.Control(func(fd uintptr) {
			for range 16 {
				if p.read(g, int(fd)) < maxPacketsPerRead {
					return
				}
			}
		})
	}
}
