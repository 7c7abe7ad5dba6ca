package lifecycle

import (
	"sync"

	"github.com/mcp-jail/mcp-jail/confine"
)

// processHistory are the processes of a session, one after the other. What the jails of
// the earlier ones recorded belongs to the session.
type processHistory struct {
	mu          sync.Mutex
	current     Process // nil before the start
	pastDenials []confine.Denial
}

func (p *processHistory) set(proc Process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current != nil {
		p.pastDenials = append(p.pastDenials, p.current.Denials()...)
	}
	p.current = proc
}

func (p *processHistory) denials() []confine.Denial {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == nil {
		return nil
	}
	return append(p.pastDenials[:len(p.pastDenials):len(p.pastDenials)], p.current.Denials()...)
}
