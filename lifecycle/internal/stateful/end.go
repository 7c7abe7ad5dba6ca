package stateful

import (
	"context"
	"os"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

func (s *statefulSession) finishRequests(ctx context.Context, ends <-chan os.Signal, how endCause, exit confine.Exit) confine.Exit {
	switch {
	case how.startupTimeout != nil:
		s.answerUntilClosed(ctx, ends, *how.startupTimeout)
		return confine.Exit{Code: session.StatusFailed}
	case how.signalled, s.client.Gone.IsSet(): // no client waits for answers
	case s.answered.IsSet():
		s.answerOpenCalls(how, exit)
	case how.byClient && s.client.Proxy.Requests.Len() == 0: // the client has asked nothing
	case how.byClient && !how.untouched && s.onlyDiscoverOpen():
		// The client has probed the server and thrown it away. It needs no reason.
		s.answerDiscover("did not answer server/discover", true)
	default:
		ended := diagnostics.Exit(exit)
		ev := s.server.Evidence(diagnostics.StageStartup, nil, time.Time{})
		ev.Exit = &ended
		s.answerUntilClosed(ctx, ends, s.lostOr(func() diagnostics.Diagnosis { return s.server.Diagnose(ev) }))
	}
	return exit
}

func (s *statefulSession) answerOpenCalls(how endCause, exit confine.Exit) {
	ended := diagnostics.Exit(exit)
	ev := s.server.Evidence(diagnostics.StageCall, nil, time.Now().Add(-s.client.Times.Kill))
	ev.Exit = &ended
	d := diagnostics.Diagnose(ev)
	calls := s.calls.claim(anyCall)
	// From now on new requests get d, and those before it are in one of the two lists.
	s.upstream.fail(d)
	calls = append(calls, s.calls.claim(anyCall)...) // that came in between
	if len(calls) == 0 {
		if !how.byClient && exit.Code != 0 {
			s.client.Announce(d)
		}
		return
	}
	diagnose := s.server.Diagnose
	if how.byClient && (exit.Code == 0 || how.killed) {
		// The client has left during a request, as it always does during a
		// subscriptions/listen (2026-07-28). The request gets an answer, but the diagnosis
		// is not announced, since nothing failed.
		diagnose = diagnostics.Diagnose
	}
	s.client.Tasks.Go(func() {
		s.calls.answer(calls, s.endDiagnoses(diagnose, ended, calls[0].Start))
	})
}

// endDiagnoses returns a function that says why a call got no answer from a server that has
// ended. The first of the open calls began at since: what was refused during any of them can have
// ended the server. Calls of the same method and tool share one diagnosis.
func (s *statefulSession) endDiagnoses(diagnose func(diagnostics.Evidence) diagnostics.Diagnosis, ended diagnostics.Exit, since time.Time) func(*mcpproxy.Call) diagnostics.Diagnosis {
	type request struct{ method, tool string }
	known := map[request]diagnostics.Diagnosis{}
	return func(c *mcpproxy.Call) diagnostics.Diagnosis {
		key := request{string(c.Method), string(c.Tool)}
		d, ok := known[key]
		if lost, isLost := s.server.Lost.Diagnosis(c.ID, key.tool); isLost {
			return s.client.Announce(lost)
		}
		if !ok {
			stage := diagnostics.StageCall
			if session.IsDiscoveryMethod(key.method) {
				stage = diagnostics.StageList
			}
			ev := s.server.Evidence(stage, c, since)
			ev.Exit = &ended
			d = diagnose(ev)
			known[key] = d
		}
		s.client.WarnRefused(d, c)
		return d
	}
}
