package session

import (
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/policy"
)

// usualHosts are the hosts that a server contacts in every session, for telemetry or to
// look for updates. Their refusal is not the reason why a call fails.
type usualHosts struct {
	mu      sync.Mutex
	known   map[string]bool
	tool    map[string]string // the tool in whose process a host was first refused
	earlier func() (diagnostics.Record, bool)
	ports   map[string]bool // of the jail's loopback, without a listener where nothing failed
}

// classifyPorts sets Background in the ports that the server tries before its first call, and in those
// that it tried during a call that went well. first is the time of the first call, or nil before it.
func (h *usualHosts) classifyPorts(ports []policy.Unanswered, first *time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, u := range ports {
		ports[i].Background = first != nil && u.Time.Before(*first) || h.ports[portKey(u)]
	}
}

func (h *usualHosts) learnPorts(ports []policy.Unanswered) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, u := range ports {
		if h.ports == nil {
			h.ports = make(map[string]bool)
		}
		if len(h.ports) <= MaxDenials {
			h.ports[portKey(u)] = true
		}
	}
}

func portKey(u policy.Unanswered) string { return net.JoinHostPort(u.Host, strconv.Itoa(u.Port)) }

// classify sets Background in the denials of usual hosts: those of the session before, those
// that a process contacts before its first call, and those that processes of several tools
// contact. first is the time of the first call, or nil before it.
func (h *usualHosts) classify(denials []policy.Denial, first *time.Time) {
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
		if !isHostDenial(d) || len(h.tool) > MaxDenials {
			continue
		}
		// A host that the processes of two tools contact is a usual one.
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

func (h *usualHosts) learn(denials []policy.Denial) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, d := range denials {
		if isHostDenial(d) && h.known != nil && len(h.known) <= MaxDenials {
			h.known[d.Target] = true
		}
	}
}

func isHostDenial(d policy.Denial) bool { return d.Axis == policy.AxisNet && d.Target != "" }

// MaxDenials bounds the denials that are kept of workers that are gone.
const MaxDenials = 1000
