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

func (h *processHistory) set(proc Process) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.current != nil {
		h.pastDenials = append(h.pastDenials, h.current.Denials()...)
	}
	h.current = proc
}

func (h *processHistory) denials() []confine.Denial {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.current == nil {
		return nil
	}
	return append(h.pastDenials[:len(h.pastDenials):len(h.pastDenials)], h.current.Denials()...)
}
