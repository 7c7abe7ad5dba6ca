package stateful

import (
	"os"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/streams"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// inspection looks at the messages between client and server.
type inspection struct {
	client   *session.Client
	server   *session.Server
	upstream *upstream
	calls    openCalls
	answered *session.Event // see statefulSession

	lists   openLists // if client.Tools is nil, it has only the levels of log messages
	refresh refresher

	requestSent      chan struct{} // gets a value for a request before the first answer
	discoverDeclined chan struct{} // gets a value when the server answers server/discover with an error

	checkedStartup bool // see reportStartupComplaint; used by the goroutine that reads the server
}

func (s *inspection) hooks() mcpproxy.Hooks {
	return mcpproxy.Hooks{
		ClientRequest:   s.onRequest,
		ClientResponse:  s.server.Roots.OnClientResponse,
		ServerRequest:   s.answerRoots,
		TooManyPending:  s.tooManyPending,
		FirstResponse:   s.onFirstResponse,
		ServerFrame:     s.onServerFrame,
		ReservedMembers: session.StripReserved,
		ServerResponse:  s.onServerResponse,
		UnmatchedResponse: func(e *mcpproxy.Envelope) bool {
			s.onOtherID(e)
			return s.client.Tools.Enforces() && e.Result.Present() // a client may match ids otherwise
		},
		Oversized:  s.onOversized,
		NonMessage: s.onNonMessage,
	}
}

func (s *inspection) onFirstResponse(e *mcpproxy.Envelope, c *mcpproxy.Call) bool {
	// Legacy servers decline it so, and may still hang on the next request.
	if c != nil && e.Error.Present() && string(c.Method) == "server/discover" {
		select {
		case s.discoverDeclined <- struct{}{}:
		default:
		}
		return false
	}
	s.answered.Set()
	s.upstream.guard.disabled.Store(true)
	return true
}

// onServerResponse sees each answer before the client gets it. It adds a diagnosis to an answer to
// tools/call if the jail refused something, and to any answer that is an error whose cause is known.
// It replaces an answer that the pins forbid. It changes no other answer.
func (s *inspection) onServerResponse(f *mcpproxy.Frame, e *mcpproxy.Envelope, c *mcpproxy.Call) {
	method := string(c.Method)
	if method != "initialize" && !s.checkedStartup {
		s.checkedStartup = true
		stderr := s.server.Pipes.Stderr.File
		s.client.Tasks.Go(func() { s.reportStartupComplaint(stderr) })
	}
	if method == "server/discover" && s.upstream.guard.isDiscover(c) {
		s.upstream.guard.markAnswered()
	}
	switch {
	case method == "tools/call":
		if !s.calls.others(c.ID) {
			s.server.Processes.CallEnds()
		}
		s.server.AnnotateResult(f, e, c)
	case method == "logging/setLevel":
		s.onLevelSet(e, c)
	case s.client.Tools != nil && s.checkTools(f, e, c):
	default:
		s.server.AnnotateError(f, e, c)
	}
	s.client.Logs.NoteAnswer(c.ID)
}

// reportStartupComplaint announces the accesses that a started server says it could not
// make. The text that the server wrote before its first answer is read already, or is
// still in the pipe.
func (s *inspection) reportStartupComplaint(stderr *os.File) {
	for range 20 {
		time.Sleep(5 * time.Millisecond)
		if streams.UnreadBytes(stderr) == 0 {
			break
		}
	}
	if d, ok := diagnostics.Complaint(s.server.Evidence(diagnostics.StageStartup, nil, time.Time{})); ok {
		s.server.Announce(d)
	}
}

func (s *inspection) onOversized(from mcpproxy.Side, f *mcpproxy.Frame) {
	d := s.server.TooLargeDiagnosis(from, f)
	back := s.client.Proxy.Client // where errors for the client's requests go
	var call mcpproxy.Call
	told := false
	for i := range f.Messages {
		e := &f.Messages[i]
		if !e.Trackable() {
			continue
		}
		kind := e.Kind()
		if from == mcpproxy.FromServer && kind == mcpproxy.Response {
			s.answered.Set()
			if !s.client.Proxy.Requests.Take(e.ID, &call) {
				continue
			}
			told = true
			if call.Answered {
				continue
			}
			d.Tool = string(call.Tool)
			s.client.Announce(d)
			back.Inject(d.ErrorFrame(call.ID))
			continue
		}
		switch {
		case kind == mcpproxy.Request && from == mcpproxy.FromClient:
			told = true
			s.client.Announce(d)
			back.Inject(d.ErrorFrame(e.ID))
		case kind == mcpproxy.Request:
			told = true
			s.client.Announce(d)
			s.server.SendAsync(s.upstream.server.Load(), d.ErrorFrame(e.ID))
		case kind == mcpproxy.Response && s.client.Proxy.ServerRequests.Take(e.ID, &call):
			if server := s.upstream.server.Load(); server != nil {
				told = true
				s.client.Announce(d)
				server.Inject(d.ErrorFrame(e.ID))
			}
		}
	}
	if !told { // it has no id that anything waits for
		s.client.SayDropped(f, d)
	}
}

// onRequest sees each request before the server gets it, and reports whether it has answered the
// request. With the default policy it changes nothing.
func (s *inspection) onRequest(f *mcpproxy.Frame, e *mcpproxy.Envelope) (answered bool) {
	s.client.Requested.Set()
	s.client.Introduction.Note(f, e)
	if !s.answered.IsSet() {
		select {
		case s.requestSent <- struct{}{}:
		default:
		}
	}
	if s.client.Tools != nil {
		if d := s.client.Tools.Refusal(); d != nil && string(e.Method) == "tools/call" {
			refused := *d
			refused.Tool = string(e.Name)
			s.client.Proxy.Client.Inject(refused.ErrorFrame(e.ID))
			return true
		}
	}
	if s.client.Tools != nil || string(e.Method) == "logging/setLevel" {
		s.lists.note(f, e)
	}
	s.client.Logs.NoteRequest(f, e)
	if string(e.Method) == "tools/call" {
		s.refresh.onCall(s.client, f, e)
		s.server.FirstCallMark.CompareAndSwap(0, int64(s.server.Tail.LineCount()))
		s.server.FirstCall.Set()
		s.server.Processes.CallBegins(string(e.Name[:min(len(e.Name), mcpproxy.MaxTool)]), func() bool { return s.calls.others(e.ID) })
	}
	s.server.Roots.Advertise(f, e)
	return false
}

func (s *inspection) tooManyPending(from mcpproxy.Side, e *mcpproxy.Envelope) {
	if from == mcpproxy.FromClient {
		s.client.Requested.Set()
		d := session.TooManyRequests(s.server.Profile.Server, string(e.Name), e.ID)
		s.client.Announce(d)
		s.client.Proxy.Client.Inject(d.ErrorFrame(e.ID))
		return
	}
	why := "too many requests wait for the client"
	if len(e.ID) > mcpproxy.MaxID {
		why = "the id is too long"
	}
	s.server.SendAsync(s.upstream.server.Load(), mcpproxy.NewError(e.ID, -32603, "mcp-jail: "+why, nil))
}

func (s *inspection) answerRoots(e *mcpproxy.Envelope) bool {
	answer := s.server.Roots.Answer(e)
	if answer != nil {
		s.server.SendAsync(s.upstream.server.Load(), answer)
	}
	return answer != nil
}
