package lifecycle

import (
	"slices"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/policy"
)

// usualHosts are the hosts that a server asks for whatever it does: telemetry, a newer
// version of itself. That they are refused is not why a call fails.
type usualHosts struct {
	mu      sync.Mutex
	known   map[string]bool
	tool    map[string]string // in whose process a host was refused first
	earlier func() (diagnostics.Record, bool)
}

// classify finds out which denials are of habits: those of the session before, those of a
// process before its first call, and what the processes of several tools have in
// common. first is nil before that call.
func (h *usualHosts) classify(denials []diagnostics.Denial, first *time.Time) {
	if !slices.ContainsFunc(denials, isHostDenial) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known == nil {
		h.known, h.tool = make(map[string]bool), make(map[string]string)
		if h.earlier != nil {
			if before, ok := h.earlier(); ok {
				for _, d := range before.Denials {
					h.known[d.Target] = h.known[d.Target] || d.Background && isHostDenial(d)
				}
			}
		}
	}
	for i, d := range denials {
		if !isHostDenial(d) || len(h.tool) > maxDenials {
			continue
		}
		tool, again := h.tool[d.Target]
		if !again {
			h.tool[d.Target] = d.Tool
		}
		if again && tool != d.Tool || first != nil && d.Time.Before(*first) {
			h.known[d.Target] = true
		}
		denials[i].Background = h.known[d.Target]
	}
}

// learn makes habits of what was refused during a call that went well.
func (h *usualHosts) learn(denials []diagnostics.Denial) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, d := range denials {
		if isHostDenial(d) && h.known != nil {
			h.known[d.Target] = true
		}
	}
}

func isHostDenial(d diagnostics.Denial) bool { return d.Axis == policy.AxisNet && d.Target != "" }
