package stateful

import (
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// onNonMessage shows a line that the client does not get. If it ends in the answer to an open
// request, the request is answered with an error once the server is silent.
func (s *statefulSession) onNonMessage(f *mcpproxy.Frame) {
	s.server.Heard()
	s.server.ShowNonMessage(f)
	m := f.Ending()
	if m == nil || m.Messages[0].Kind() != mcpproxy.Response {
		return
	}
	key := mcpproxy.IDKey(m.Messages[0].ID)
	if id := s.openID(func(c *mcpproxy.Call) bool { return mcpproxy.IDKey(c.ID) == key }); id != nil {
		s.server.LoseAnswer(id, s.server.MixedLine(f, m), func() { s.answerLost(key) })
	}
}

// onOtherID notes an answer whose id is that of an open request in another type. It is passed on,
// since some clients accept it, and no error is sent while the server runs.
func (s *statefulSession) onOtherID(e *mcpproxy.Envelope) {
	if !e.Trackable() {
		return
	}
	if id := s.openID(func(c *mcpproxy.Call) bool { return mcpproxy.SameText(c.ID, e.ID) }); id != nil {
		s.server.NoteLostAnswer(id, session.OtherID(e.ID, id))
	}
}

// openID returns the id of an open request that matches, or nil.
func (s *statefulSession) openID(match func(*mcpproxy.Call) bool) (id []byte) {
	s.client.Proxy.Requests.Each(func(c *mcpproxy.Call) {
		if id == nil && match(c) {
			id = append([]byte{}, c.ID...)
		}
	})
	return id
}

func (s *statefulSession) answerLost(key string) {
	s.answered.Set() // the server believes so
	calls := s.client.ClaimRequests(func(c *mcpproxy.Call) bool { return mcpproxy.IDKey(c.ID) == key })
	s.client.AnswerCalls(calls, func(c *mcpproxy.Call) diagnostics.Diagnosis {
		d, _ := s.server.LostAnswer(c.ID, string(c.Tool))
		return s.client.Announce(d)
	})
}

// lostOr returns why the answer to an open request was lost, or otherwise.
func (s *statefulSession) lostOr(otherwise func() diagnostics.Diagnosis) (d diagnostics.Diagnosis) {
	found := false
	s.openID(func(c *mcpproxy.Call) bool {
		d, found = s.server.LostAnswer(c.ID, string(c.Tool))
		return found
	})
	if found {
		return s.client.Announce(d)
	}
	return otherwise()
}
