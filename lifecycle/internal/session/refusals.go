package session

import (
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
)

// told is what a session tells of its refusals at once to a client that asked for log messages.
type told struct {
	log   *refusalLog
	queue *refusalQueue // of the goroutine that looks for refusals
}

// EndMessages ends the task that sends log messages for goroutines that must not wait for the client.
func (c *Client) EndMessages() { c.told.queue.End() }

// WarnRefused sends a log message about a refusal, if the client has asked for that. call is the request
// whose answer is about to be sent, or nil: then WarnRefused does not wait for the client. A client of
// logging/setLevel is told once of refusals that are alike. A modern request that asks is told of its
// own: each is for itself.
func (c *Client) WarnRefused(d diagnostics.Diagnosis, call *mcpproxy.Call) {
	if !d.Refused() {
		return
	}
	var session, itself bool
	if call != nil {
		session, itself = c.Logs.wantsOf(mcpproxy.IDKey(call.ID))
	} else {
		session = c.Logs.wants()
	}
	text, ok := c.told.log.text(d, session || itself, itself)
	switch message := logMessage(text); {
	case !ok:
	case !session && !itself:
		c.Logs.keep(message)
	case call != nil:
		c.Proxy.Client.Inject(message)
	default:
		c.told.queue.Push(message)
	}
}

// lookRefused tells the refusals of the server that no diagnosis has told.
func (s *Server) lookRefused() {
	if !s.seen.mayHave(s.Processes.Denials()) {
		return
	}
	denials := s.denials(time.Time{})
	var ev *diagnostics.Evidence
	for i, shown := range s.Redact.RedactDenials(denials) {
		if !s.seen.due(shown) || shown.Background || s.Quiet.Load() {
			continue
		}
		if ev == nil { // only now, since it costs
			all := s.Evidence(diagnostics.StageCall, nil, time.Time{})
			ev = &all
		}
		s.Client.WarnRefused(diagnostics.RefusedSilently(*ev, denials[i]), nil)
	}
}

// seenRefusals holds which refusals of a server's processes are told already.
type seenRefusals struct {
	mu     sync.Mutex
	all    map[string]*seenDenial
	count  int  // of the refusals at the last look
	untold bool // some of them were not told
}

// seenDenial is a kind of refusal, which a denial counts.
type seenDenial struct {
	told int  // how many of them are told
	new  bool // there were more at the look before
	wait int  // looks until the next ones are told
	next int  // wait, after that
}

// maxWait bounds how many looks, of a second each, refusals that are repeated wait to be told.
const maxWait = 60

func denialKey(d policy.Denial) string {
	return strings.Join([]string{string(d.Axis), d.Operation, d.Target, string(d.Reason), strings.Join(d.Arguments, "\x01")}, "\x00")
}

func (s *seenRefusals) of(d policy.Denial) *seenDenial {
	if s.all == nil {
		s.all = map[string]*seenDenial{}
	}
	key := denialKey(d)
	if s.all[key] == nil {
		s.all[key] = new(seenDenial)
	}
	return s.all[key]
}

// tell notes the denials that a diagnosis has told. They are redacted.
func (s *seenRefusals) tell(denials []policy.Denial) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range denials {
		e := s.of(d)
		e.told, e.new = max(e.told, d.Count, 1), false
	}
}

// due reports whether a denial is to be told now. A new one waits for one look: the call during which it
// happened may fail, and then the diagnosis tells it. One that is repeated waits longer and longer.
func (s *seenRefusals) due(d policy.Denial) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.of(d)
	n := max(d.Count, 1) - e.told
	switch {
	case n <= 0:
		e.new = false
		return false
	case !e.new:
		e.new, s.untold = true, true
		return false
	case e.wait > 0:
		e.wait, s.untold = e.wait-1, true
		return false
	}
	e.told, e.new = e.told+n, false
	e.next = min(2*e.next+4, maxWait)
	e.wait = e.next
	return true
}

// mayHave reports whether there is something to tell of denials: a look at each of them costs.
func (s *seenRefusals) mayHave(denials []policy.Denial) bool {
	count := 0
	for _, d := range denials {
		count += max(d.Count, 1)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	may := count > 0 && (s.untold || count != s.count)
	s.count, s.untold = count, false
	return may
}

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
