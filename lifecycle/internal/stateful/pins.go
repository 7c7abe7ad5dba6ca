package stateful

import (
	"bytes"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

func (s *inspection) onLevelSet(e *mcpproxy.Envelope, c *mcpproxy.Call) {
	if asked := s.lists.take(c.ID, "logging/setLevel"); e.Result.Present() {
		for _, m := range s.client.Logs.SetLevel(asked.Level) {
			s.client.Proxy.Client.Inject(m)
		}
	}
}

// checkTools compares an answer with the pins before the client gets it. If the client must
// not see it, checkTools replaces it by an error. It reports whether the answer needs no
// other look.
func (s *inspection) checkTools(f *mcpproxy.Frame, e *mcpproxy.Envelope, c *mcpproxy.Call) bool {
	var d *diagnostics.Diagnosis
	switch method := string(c.Method); method {
	case "initialize", "server/discover":
		asked := s.lists.take(c.ID, method)
		if e.Result.Present() {
			d = s.client.Tools.Handshake(asked, f.Slice(e.Result))
		}
	case "tools/list":
		asked := s.lists.take(c.ID, method)
		if e.Result.Present() {
			d = s.client.Tools.List(asked, f.Slice(e.Result))
		}
	default:
		return false
	}
	if d != nil {
		f.Replace(e.Self, bytes.TrimSuffix(d.ErrorFrame(c.ID), []byte{'\n'}))
	}
	return !e.Error.Present()
}

func (s *inspection) onServerFrame(f *mcpproxy.Frame) (drop bool) {
	s.server.Lost.Heard()
	if s.client.Tools.Enforces() && f.Flaws.Ambiguous() {
		d := session.Refusal(-32603, diagnostics.PageMessage, s.server.Profile.Server, "",
			`two JSON readers could read one of its messages differently, and pin_tools is "enforce"`, "")
		s.client.Announce(d)
		s.refuseAnswers(f, d)
		return true
	}
	d := s.server.Leaks.Load().Check(f, "")
	if d == nil {
		return false
	}
	if s.refuseAnswers(f, *d)+s.refuseRequests(f, *d) > 0 {
		s.client.Announce(*d)
	} else {
		s.server.Leaks.Load().Dropped(f, "")
	}
	return true
}

func (s *inspection) refuseAnswers(f *mcpproxy.Frame, d diagnostics.Diagnosis) (n int) {
	var call mcpproxy.Call
	for i := range f.Messages {
		e := &f.Messages[i]
		if e.Kind() == mcpproxy.Request && !f.Flaws.Ambiguous() {
			continue // its id is one of the server's own
		}
		for _, id := range session.IDsIn(f, e) {
			if len(id) > 0 && s.client.Proxy.Requests.Take(id, &call) && !call.Answered {
				n++
				s.answered.Set()
				s.upstream.guard.disabled.Store(true)
				d.Tool = string(call.Tool)
				s.client.Proxy.Client.Inject(d.ErrorFrame(call.ID))
			}
		}
	}
	return n
}

func (s *inspection) refuseRequests(f *mcpproxy.Frame, d diagnostics.Diagnosis) (n int) {
	for i := range f.Messages {
		if e := &f.Messages[i]; e.Kind() == mcpproxy.Request && e.Trackable() {
			n++
			s.server.SendAsync(s.upstream.server.Load(), d.ErrorFrame(e.ID))
		}
	}
	return n
}
