package session

import (
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/refusals"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// told is what a session tells of its refusals at once: to Session.Refused for
// `mcp-jail why --follow`, and to a client that asked for log messages.
type told struct {
	fresh refusals.Fresh
	log   *refusals.Log
	queue *refusals.Queue // of the goroutine that looks for refusals
}

func (c *Client) noteRefusal(d diagnostics.Diagnosis, count int) {
	if c.Config.Refused != nil && !d.Silent() {
		c.told.fresh.Note(d, count)
	}
}

// tellRefused looks for refusals that no diagnosis is about, if look is set, and passes all that are new
// to Session.Refused. last says that there is no other look.
func (c *Client) tellRefused(look, last bool) {
	if look {
		for _, s := range c.servers() {
			s.LookRefused(last)
		}
	}
	if all := c.told.fresh.Take(); len(all) > 0 {
		c.Config.Refused(all)
	}
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

// LookRefused tells the refusals of the server that no diagnosis has told. last says that there is no
// other look.
func (s *Server) LookRefused(last bool) {
	if !s.seen.MayHave(s.Processes.Denials(), last) {
		return
	}
	denials := s.denials(time.Time{})
	var ev *diagnostics.Evidence
	for i, shown := range s.Redact.RedactDenials(denials) {
		n := s.seen.Due(shown, last)
		if n == 0 {
			continue
		}
		if ev == nil { // only now, since it costs
			all := s.Evidence(diagnostics.StageCall, nil, time.Time{})
			ev = &all
		}
		d := diagnostics.RefusedSilently(*ev, denials[i])
		s.Client.noteRefusal(d, n)
		if !shown.Background && !s.Quiet.Load() && !last {
			s.Client.WarnRefused(d, nil)
		}
	}
}
