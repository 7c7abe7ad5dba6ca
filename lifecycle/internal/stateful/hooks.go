package stateful

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"slices"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/diagnose"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/streams"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

func (s *statefulSession) hooks() mcpproxy.Hooks {
	return mcpproxy.Hooks{
		ClientFrame:     s.onClientFrame,
		ClientRequest:   s.onRequest,
		OwnResponse:     func(f *mcpproxy.Frame, e *mcpproxy.Envelope) bool { return s.client.Questions.Answered(f, e) },
		ClientCancels:   s.onCancel,
		ClientResponse:  s.onClientResponse,
		ServerRequest:   s.onServerRequest,
		TooManyPending:  s.tooManyPending,
		FirstResponse:   s.onFirstResponse,
		ServerFrame:     s.onServerFrame,
		ReservedMembers: session.StripReserved,
		ServerResponse:  s.onServerResponse,
		UnmatchedResponse: func(e *mcpproxy.Envelope) bool {
			return s.isStrict() && e.Result.Present() // a client may match ids otherwise
		},
		Oversized:  s.onOversized,
		NonMessage: func(f *mcpproxy.Frame) { s.server().Stray.Show(f) },
	}
}

// onCancel reports whether the server never got a call that the client cancels.
func (s *statefulSession) onCancel(id []byte) (kept bool) {
	s.heir.noteCancelled()
	return s.client.Questions.Cancelled(id)
}

func (s *statefulSession) onClientResponse(f *mcpproxy.Frame, e *mcpproxy.Envelope, c *mcpproxy.Call) {
	s.client.Questions.Others(string(c.Method), true)
	s.server().Roots.OnClientResponse(f, e, c)
}

func (s *statefulSession) onFirstResponse(e *mcpproxy.Envelope, c *mcpproxy.Call) bool {
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
func (s *statefulSession) onServerResponse(f *mcpproxy.Frame, e *mcpproxy.Envelope, c *mcpproxy.Call) {
	method := string(c.Method)
	s.heir.noteAnswer(f, e, c)
	s.client.Logs.Answered.Store(c.Logs)
	if method != "initialize" && !s.checkedStartup {
		s.checkedStartup = true
		stderr := s.server().Pipes.Stderr.File
		s.client.Tasks.Go(func() { s.reportStartupComplaint(stderr) })
	}
	switch {
	case method == "tools/call":
		if !s.calls.others(c.ID) {
			s.server().Processes.CallEnds()
		}
		s.server().AnnotateResult(f, e, c)
	case method == "logging/setLevel":
		s.onLevelSet(e, c)
	case s.checkTools(f, e, c):
	default:
		s.server().AnnotateError(f, e, c)
	}
	s.client.Logs.Answered.Store(false)
}

// reportStartupComplaint announces the accesses that a started server says it could not
// make. The text that the server wrote before its first answer is read already, or is
// still in the pipe.
func (s *statefulSession) reportStartupComplaint(stderr *os.File) {
	for range 20 {
		time.Sleep(5 * time.Millisecond)
		if streams.UnreadBytes(stderr) == 0 {
			break
		}
	}
	if d, ok := diagnose.Complaint(s.server().Evidence(diagnostics.StageStartup, nil, time.Time{})); ok {
		s.server().Announce(d)
	}
}

func (s *statefulSession) onOversized(from mcpproxy.Side, f *mcpproxy.Frame) {
	s.refuse(from, f, s.server().TooLargeDiagnosis(from, f))
}

// onClientFrame refuses what the server could take for another call than we do, if a tool may be off.
func (s *statefulSession) onClientFrame(f *mcpproxy.Frame) (drop bool) {
	noCall := func(e mcpproxy.Envelope) bool { // it has no id, or is no message for us
		return e.Kind() == mcpproxy.Other || e.Kind() == mcpproxy.Notification && !bytes.HasPrefix(e.Method, []byte("notifications/"))
	}
	if !s.client.HasSwitches() || f.Blank() || !f.NonMessage() && !f.Flaws.Ambiguous() && !slices.ContainsFunc(f.Messages, noCall) {
		return false
	}
	s.client.ExplainTyped(f)
	s.refuse(mcpproxy.FromClient, f, session.Refusal(-32600, diagnostics.PageMessage, s.server().Profile.Server, "",
		"the client has sent a message that programs could read differently, and tools are off", "have the client send each name once, in its own spelling, and calls with an id"))
	return true
}

// refuse answers the requests of a frame that is not forwarded, and those that it answers. If there are none, it says that
// the frame was dropped.
func (s *statefulSession) refuse(from mcpproxy.Side, f *mcpproxy.Frame, d diagnostics.Diagnosis) {
	if !s.answerRefused(from, f, d) {
		s.client.SayDropped(f, d)
	}
}

// answerRefused is refuse, but for what it says of a frame that it does not answer. It announces each answer.
func (s *statefulSession) answerRefused(from mcpproxy.Side, f *mcpproxy.Frame, d diagnostics.Diagnosis) (told bool) {
	var call mcpproxy.Call
	server := s.upstream.server.Load()
	announce := func(tool string) diagnostics.Diagnosis {
		said := d
		said.Tool, told = tool, true
		s.client.Announce(said)
		return said
	}
	for i := range f.Messages {
		e := &f.Messages[i]
		ids := session.IDsIn(f, e)
		isRequest, isOne := e.Kind() == mcpproxy.Request && e.Trackable(), e.Trackable() && len(ids) == 1 // of two ids, some clients would take the other one
		if from == mcpproxy.FromServer && isRequest {
			s.server().SendAsync(server, announce("").ErrorFrame(e.ID))
		}
		switch {
		case from == mcpproxy.FromServer && (!isRequest || f.Flaws.Ambiguous() && !f.Oversized):
			for _, id := range ids { // each could be that of a request which waits
				switch {
				case len(id) == 0 || !s.client.Proxy.Requests.Take(id, &call):
				case call.Answered:
					told = true
				default:
					s.answered.Set()
					s.upstream.guard.disabled.Store(true)
					s.client.Proxy.Client.Inject(announce(string(call.Tool)).ErrorFrame(call.ID))
				}
			}
		case from == mcpproxy.FromServer:
		case isRequest && isOne:
			s.client.Proxy.Requests.Leave(mcpproxy.NewCall(e, time.Now()), nil)
			s.client.Proxy.Client.Inject(announce("").ErrorFrame(e.ID))
		case isOne && e.Kind() == mcpproxy.Response && s.client.Proxy.ServerRequests.Take(e.ID, &call) && server != nil:
			server.Inject(announce("").ErrorFrame(e.ID))
		}
	}
	return told
}

// onRequest sees each request before the server gets it, and reports whether it has answered the
// request. With the default policy it changes nothing.
func (s *statefulSession) onRequest(f *mcpproxy.Frame, e *mcpproxy.Envelope) (answered bool) {
	s.client.Requested.Set()
	s.client.Introduction.Note(f, e)
	s.heir.noteRequest(f, e)
	if !s.answered.IsSet() {
		select {
		case s.requestSent <- struct{}{}:
		default:
		}
	}
	if string(e.Method) == "tools/call" {
		if d := cmp.Or(s.client.Tools.Refusal(), s.client.SwitchedOff(string(e.Name))); d != nil {
			refused := *d
			refused.Tool = string(e.Name)
			s.client.Proxy.Client.Inject(refused.ErrorFrame(e.ID))
			return true
		}
		if ask := s.client.Questions.Before(e); ask != nil && !f.Batch && ask(f, e, s.held(e)) {
			s.client.Proxy.Requests.Withdraw(e.ID)
			return true
		}
	}
	logs := session.AsksForLogs(f, e)
	if logs {
		s.client.Proxy.Requests.WantsLogs(e)
	}
	if string(e.Method) == "tools/call" {
		s.refresh.onCall(s.client, logs)
		s.server().FirstCallMark.CompareAndSwap(0, int64(s.server().Tail.LineCount()))
		s.server().FirstCall.Set()
		s.server().Processes.CallBegins(string(e.Name[:min(len(e.Name), mcpproxy.MaxTool)]), func() bool { return s.calls.others(e.ID) })
	}
	s.server().Roots.Advertise(f, e)
	return false
}

// held returns a call in front of which a question may stand.
func (s *statefulSession) held(e *mcpproxy.Envelope) session.HeldCall {
	call := mcpproxy.NewCall(e, time.Now())
	return session.HeldCall{
		ID: string(e.ID), Tool: string(e.Name),
		Pass: func(f *mcpproxy.Frame) {
			s.client.Proxy.Forward(f, &s.upstream)
			f.Close()
		},
		Answer: func(line []byte) {
			if call.Cancelled = line == nil; line != nil {
				s.client.Proxy.Client.Inject(line)
			}
			s.client.Proxy.Requests.Leave(call, nil)
		},
		Restart: s.refresh.restart,
	}
}

func (s *statefulSession) tooManyPending(from mcpproxy.Side, e *mcpproxy.Envelope) {
	if from == mcpproxy.FromClient {
		s.client.Requested.Set()
		d := session.TooManyRequests(s.server().Profile.Server, string(e.Name), e.ID)
		s.client.Announce(d)
		s.client.Proxy.Client.Inject(d.ErrorFrame(e.ID))
		return
	}
	why := "too many requests wait for the client"
	if len(e.ID) > mcpproxy.MaxID {
		why = "the id is too long"
	}
	s.server().SendAsync(s.upstream.server.Load(), mcpproxy.NewError(e.ID, -32603, "mcp-jail: "+why, nil))
}

func (s *statefulSession) onServerRequest(e *mcpproxy.Envelope) bool {
	s.client.Questions.Others(string(e.Method), false)
	answer := s.server().Roots.Answer(e)
	if answer != nil {
		s.server().SendAsync(s.upstream.server.Load(), answer)
	}
	return answer != nil
}

func (s *statefulSession) onLevelSet(e *mcpproxy.Envelope, c *mcpproxy.Call) {
	if e.Result.Present() && c.Line != nil {
		f := mcpproxy.Parse(c.Line)
		var asked struct{ Level string }
		json.Unmarshal(f.Slice(f.Messages[0].Params), &asked)
		for _, m := range s.client.Logs.SetLevel(asked.Level) {
			s.client.Proxy.Client.Inject(m)
		}
	}
}

// checkTools compares an answer with the pins before the client gets it, and cuts tools that are off out of it. If the
// client must not see the answer, checkTools replaces it by an error. It reports whether the answer needs no other look.
func (s *statefulSession) checkTools(f *mcpproxy.Frame, e *mcpproxy.Envelope, c *mcpproxy.Call) bool {
	var d *diagnostics.Diagnosis
	switch string(c.Method) {
	case "initialize", "server/discover":
		if e.Result.Present() {
			d = s.client.Tools.Handshake(s.listRequest(c), f.Slice(e.Result))
		}
	case "tools/list":
		if e.Result.Present() {
			page := f.Slice(e.Result)
			if d = s.client.Tools.List(s.listRequest(c), page); d != nil {
				break
			}
			var list []byte
			list, d = s.client.Cut(page)
			if fewer := len(page) - len(list); d == nil && fewer > 0 {
				session.EachMember(page, func(name string, at int64, value []byte) { // what is edited beside it stays so
					if start, end := e.Result.Start+at, at+int64(len(value)); name == "tools" {
						f.Replace(mcpproxy.Span{Start: start, End: e.Result.Start + end, Kind: '['}, list[at:end-int64(fewer)])
					}
				})
			}
		}
	default:
		return false
	}
	if d != nil {
		f.Replace(e.Self, bytes.TrimSuffix(d.ErrorFrame(c.ID), []byte{'\n'}))
	}
	return !e.Error.Present()
}

// isStrict reports whether the client must not get all that the server says.
func (s *statefulSession) isStrict() bool { return s.client.Tools.Enforces() || s.client.HasSwitches() }

func (s *statefulSession) onServerFrame(f *mcpproxy.Frame) (drop bool) {
	if s.isStrict() && f.Flaws.Ambiguous() {
		why := map[bool]string{true: `pin_tools is "enforce"`, false: "tools are off"}[s.client.Tools.Enforces()]
		d := session.Refusal(-32603, diagnostics.PageMessage, s.server().Profile.Server, "",
			"two JSON readers could read one of its messages differently, and "+why, "")
		if !s.answerRefused(mcpproxy.FromServer, f, d) {
			s.client.Announce(d)
		}
		return true
	}
	d := s.server().Leaks.Load().Check(f, "")
	if d != nil && !s.answerRefused(mcpproxy.FromServer, f, *d) {
		s.server().Leaks.Load().Dropped(f, "")
	}
	return d != nil
}
