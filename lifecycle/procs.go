package lifecycle

import (
	"sync"

	"github.com/mcp-jail/mcp-jail/confine"
)

// procs are the processes of a session, one after the other. What the jails of
// the earlier ones recorded belongs to the session.
type procs struct {
	mu   sync.Mutex
	now  Process // nil before the start
	past []confine.Denial
}

func (p *procs) set(proc Process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now != nil {
		p.past = append(p.past, p.now.Denials()...)
	}
	p.now = proc
}

func (p *procs) denials() []confine.Denial {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now == nil {
		return nil
	}
	return append(p.past[:len(p.past):len(p.past)], p.now.Denials()...)
}
