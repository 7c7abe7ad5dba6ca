package stateful

import (
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// onNonMessage shows a line that the client does not get. If it ends in the answer to an open
// request, the request is answered with an error once the server is silent.
func (s *inspection) onNonMessage(f *mcpproxy.Frame) {
	s.server.Lost.Heard()
	s.server.Stray.Show(f)
	m := f.Ending()
	if m == nil || m.Messages[0].Kind() != mcpproxy.Response {
		return
	}
	key := mcpproxy.IDKey(m.Messages[0].ID)
	if s.calls.has(key) {
		s.server.Lost.Note(m.Messages[0].ID, session.MixedLine(s.server.Redact, f, m), func() { s.answerLost(key) })
	}
}

// onOtherID notes an answer whose id is that of an open request in another type. It is passed on,
// since some clients accept it, and no error is sent while the server runs.
func (s *inspection) onOtherID(e *mcpproxy.Envelope) {
	if !e.Trackable() {
		return
	}
	if id := s.calls.id(func(c *mcpproxy.Call) bool { return mcpproxy.SameText(c.ID, e.ID) }); id != nil {
		s.server.Lost.Note(id, session.OtherID(e.ID, id), nil)
	}
}

func (s *inspection) answerLost(key string) {
	s.answered.Set() // the server believes so
	calls := s.calls.claim(func(c *mcpproxy.Call) bool { return mcpproxy.IDKey(c.ID) == key })
	s.calls.answer(calls, func(c *mcpproxy.Call) diagnostics.Diagnosis {
		d, _ := s.server.Lost.Diagnosis(c.ID, string(c.Tool))
		return s.client.Announce(d)
	})
}

// lostOr returns why the answer to an open request was lost, or otherwise.
func (s *statefulSession) lostOr(otherwise func() diagnostics.Diagnosis) (d diagnostics.Diagnosis) {
	found := false
	s.calls.id(func(c *mcpproxy.Call) bool {
		d, found = s.server.Lost.Diagnosis(c.ID, string(c.Tool))
		return found
	})
	if found {
		return s.client.Announce(d)
	}
	return otherwise()
}
