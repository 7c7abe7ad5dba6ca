package session

import (
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/refusals"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// told is what a session tells of its refusals at once to a client that asked for log messages.
type told struct {
	log   *refusals.Log
	queue *refusals.Queue // of the goroutine that looks for refusals
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
		session, itself = c.Logs.WantsOf(mcpproxy.IDKey(call.ID))
	} else {
		session = c.Logs.Wants()
	}
	text, ok := c.told.log.Text(d, session || itself, itself)
	switch message := logMessage(text); {
	case !ok:
	case !session && !itself:
		c.Logs.Keep(message)
	case call != nil:
		c.Proxy.Client.Inject(message)
	default:
		c.told.queue.Push(message)
	}
}

// lookRefused tells the refusals of the server that no diagnosis has told.
func (s *Server) lookRefused() {
	if !s.seen.MayHave(s.Processes.Denials()) {
		return
	}
	denials := s.denials(time.Time{})
	var ev *diagnostics.Evidence
	for i, shown := range s.Redact.RedactDenials(denials) {
		if !s.seen.Due(shown) || shown.Background || s.Quiet.Load() {
			continue
		}
		if ev == nil { // only now, since it costs
			all := s.Evidence(diagnostics.StageCall, nil, time.Time{})
			ev = &all
		}
		s.Client.WarnRefused(diagnostics.RefusedSilently(*ev, denials[i]), nil)
	}
}
