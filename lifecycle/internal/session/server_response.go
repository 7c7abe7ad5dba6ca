package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/diagnose"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
)

// FailureText returns the text of a failed answer, for the diagnosis. It may decode the
// frame freely, since none of the decoded text is sent on.
func FailureText(f *mcpproxy.Frame, e *mcpproxy.Envelope) string {
	var b strings.Builder
	if e.Error.Present() {
		var failure struct {
			Message string          `json:"message"`
			Data    json.RawMessage `json:"data"`
		}
		if json.Unmarshal(f.Slice(e.Error), &failure) == nil {
			b.WriteString(failure.Message)
			if len(failure.Data) > 0 {
				b.WriteByte('\n')
				b.Write(failure.Data)
			}
		}
	} else {
		var content []struct {
			Text string `json:"text"`
		}
		if json.Unmarshal(f.Slice(e.Content), &content) == nil {
			for _, c := range content {
				if c.Text != "" {
					b.WriteString(c.Text)
					b.WriteByte('\n')
				}
			}
		}
	}
	text := strings.TrimSuffix(b.String(), "\n")
	return strings.ToValidUTF8(text[:min(len(text), maxText)], "\ufffd")
}

// StripReserved removes members with our reserved names from a message of the server.
func StripReserved(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	f.Cut(e.Reserved, &e.ResultMeta, &e.ErrorData, &e.ParamsMeta)
}

// AnnotateResult adds to an answer to tools/call the members that docs/reference.md, "Answers to
// tool calls", promises. To a result it adds the denials, in _meta, if there are any. To a failed
// result it also adds a text block if we can say something about the failure. To an error it adds
// the diagnosis, in data, and its sentence, in message. Once for each file that was replaced, it adds
// a text block about that. It adds nothing else. It returns how sure the diagnosis of a failed call is,
// and "" for a call that did not fail.
func (s *Server) AnnotateResult(f *mcpproxy.Frame, e *mcpproxy.Envelope, c *mcpproxy.Call) (sure diagnostics.Attribution) {
	failed := e.IsError || e.Error.Present()
	if !failed {
		s.tellReplaced(f, e, c)
		unanswered := s.unanswered(c.Start, c.Start)
		s.Client.usual.learnPorts(unanswered)
		if len(withoutReads(s.CertainReads, s.denials(c.Start))) == 0 {
			s.noteOfJail(f, e, unanswered, c)
			return ""
		}
	}
	ev := s.Evidence(diagnostics.StageCall, c, c.Start)
	// Lines from the start were announced already.
	if drop := len(ev.Stderr) - (s.Tail.LineCount() - int(s.FirstCallMark.Load())); drop > 0 {
		ev.Stderr, ev.RawStderr = ev.Stderr[min(drop, len(ev.Stderr)):], ev.RawStderr[min(drop, len(ev.RawStderr)):]
		ev.Earlier = max(0, ev.Earlier-drop)
	}
	if failed {
		ev.Text = FailureText(f, e)
	} else {
		ev.Unanswered, ev.Denials = nil, withoutReads(s.CertainReads, ev.Denials)
	}
	d := diagnose.Failure(ev)
	if failed {
		sure = d.Attribution
		if d.Replaced != "" {
			s.toldReplaced = append(s.toldReplaced, d.Replaced)
		}
		s.nextStep(&d)
	}
	if d.Silent() {
		s.recordDiagnosis(d)
		return sure
	}
	switch usual := !slices.ContainsFunc(ev.Denials, func(d policy.Denial) bool { return !d.Background }); {
	case d.Cause == "":
		s.recordDiagnosis(d) // what was refused did no harm
	case failed || !usual:
		s.Announce(d) // usual denials were announced before
	}
	if !failed {
		s.Client.usual.learn(ev.Denials)
	}
	if e.Error.Present() {
		addDiagnosisToError(f, e, d)
		return sure
	}
	if meta := d.ResultMeta(); len(meta) > 0 {
		f.AddMeta(&e.Result, &e.ResultMeta, diagnostics.MetaDenials, meta)
	}
	if block := d.ResultBlock(); failed && d.Cause != "" && len(block) > 0 {
		if e.Content.Present() {
			f.AddElement(&e.Content, block)
		} else {
			f.AddMember(&e.Result, "content", append(append([]byte{'['}, block...), ']'))
		}
	}
	return sure
}

// noteOfJail records, for `mcp-jail why`, that a result names what only the jail has. The answer stays
// as it is. Its text is decoded only if its beginning may name such a thing: decoding takes ten times as
// long as relaying.
func (s *Server) noteOfJail(f *mcpproxy.Frame, e *mcpproxy.Envelope, unanswered []policy.Unanswered, c *mcpproxy.Call) {
	tried := slices.ContainsFunc(unanswered, func(u policy.Unanswered) bool { return !u.Background })
	raw := f.Slice(e.Content)
	if !tried && !diagnose.MayBeOfJail(s.Profile, raw[:min(len(raw), maxText)]) {
		return
	}
	ev := s.Evidence(diagnostics.StageCall, c, c.Start)
	ev.Text, ev.Unanswered = FailureText(f, e), unanswered
	if d, ok := diagnose.OfJail(ev); ok {
		s.recordDiagnosis(d)
	}
}

// AnnotateError adds the diagnosis of an error to the server's answer to any other request, if
// there is something to say. A method that the server declines is no failure.
func (s *Server) AnnotateError(f *mcpproxy.Frame, e *mcpproxy.Envelope, c *mcpproxy.Call) {
	method := string(c.Method)
	if !e.Error.Present() || DeclinesMethod(method, string(e.Code)) {
		return
	}
	ev := s.Evidence(diagnostics.StageCall, c, c.Start)
	if IsDiscoveryMethod(method) { // what it needed may have failed at its start
		ev = s.Evidence(diagnostics.StageList, c, time.Time{})
	}
	ev.Text = FailureText(f, e)
	d := s.Diagnose(ev)
	if !d.Silent() {
		addDiagnosisToError(f, e, d)
	}
}

// addDiagnosisToError puts a diagnosis into the data of a server's own error, and its sentence at
// the end of the message. Data that is no object becomes a member of a new object, with all of its
// bytes. A message that is no text stays as it is.
func addDiagnosisToError(f *mcpproxy.Frame, e *mcpproxy.Envelope, d diagnostics.Diagnosis) {
	diagnosis := d.ErrorData()
	if note := d.ErrorNote(); note != "" {
		if e.ErrorMessage.End-e.ErrorMessage.Start > 2 {
			note = " " + note
		}
		f.AppendText(e.ErrorMessage, note)
	}
	switch {
	case diagnosis == nil:
	case e.ErrorData.Kind == '{':
		f.AddMember(&e.ErrorData, diagnostics.DataDiagnosis, diagnosis)
	case e.ErrorData.Present():
		// Data that is not an object becomes a member of a new one.
		f.Wrap(e.ErrorData, []byte(`{"`+diagnostics.DataServer+`":`), []byte(`,"`+diagnostics.DataDiagnosis+`":`+string(diagnosis)+`}`))
	default:
		f.AddMember(&e.Error, "data", []byte(`{"`+diagnostics.DataDiagnosis+`":`+string(diagnosis)+`}`))
	}
}

// IsDiscoveryMethod reports whether clients learn from the answer what a server offers.
func IsDiscoveryMethod(method string) bool {
	switch method {
	case "tools/list", "resources/list", "resources/templates/list", "prompts/list", "server/discover":
		return true
	}
	return false
}

// DeclinesMethod reports whether the code of an error is an ordinary way to decline a method.
// "Method not found" is one. For server/discover there are others: a legacy server refuses a
// request before initialize, and a modern server refuses a version that it does not support.
func DeclinesMethod(method, code string) bool {
	switch code {
	case "-32601":
		return true
	case "-32600", "-32602", "-32022":
		return method == "server/discover"
	}
	return false
}

// TooLargeDiagnosis returns the diagnosis of a message that exceeds message_mb, could not be kept
// until its end, or is not on one line.
func (s *Server) TooLargeDiagnosis(from mcpproxy.Side, f *mcpproxy.Frame) diagnostics.Diagnosis {
	const mb = 1 << 20
	d := diagnostics.Diagnosis{
		// No code of ours fits. -32603 is JSON-RPC's "Internal error"; the data says
		// that the error is ours.
		Code: -32603, Stage: diagnostics.StageCall, Attribution: diagnostics.Certain, Server: s.Profile.Server, Explain: diagnostics.PageMessage,
	}
	whose := "a message to it"
	if from == mcpproxy.FromServer {
		whose = "a message"
		if len(f.Messages) > 0 && f.Messages[0].Kind() == mcpproxy.Response {
			whose = "an answer"
		}
	}
	if errors.Is(f.Err, mcpproxy.ErrSeveralLines) {
		d.What = fmt.Sprintf("server %q writes one message over several lines; MCP's stdio needs one line each", s.Profile.Server)
		d.Fix, d.Explain = "have the server write its messages without line ends in them (json.dumps without indent, JSON.stringify with one argument)", diagnostics.PageStdout
	} else if errors.Is(f.Err, mcpproxy.ErrContentLength) {
		d.What = fmt.Sprintf("server %q frames its messages with Content-Length, as LSP does; MCP's stdio has one message a line", s.Profile.Server)
		d.Fix, d.Explain = "have the server write each message on one line, without headers", diagnostics.PageStdout
	} else if errors.Is(f.Err, mcpproxy.ErrTooManyNames) {
		d.What = fmt.Sprintf("server %q: %s was not passed on, since mcp-jail has to look for its own names in all of it: %v", s.Profile.Server, whose, f.Err)
		d.Fix = "let the server send it in smaller messages"
	} else if errors.Is(f.Err, mcpproxy.ErrTooDeep) {
		d.What = fmt.Sprintf("server %q: %s was not passed on: %v", s.Profile.Server, whose, f.Err)
	} else if errors.Is(f.Err, mcpproxy.ErrTooManyReserved) {
		d.What = fmt.Sprintf("server %q: %s was not passed on, since mcp-jail cannot cut its own names out of it: %v", s.Profile.Server, whose, f.Err)
	} else if f.Err != nil {
		d.What = fmt.Sprintf("server %q: %s of %d MiB could not be kept until its end: %v", s.Profile.Server, whose, f.Size/mb, f.Err)
	} else {
		d.What = fmt.Sprintf("server %q: %s has %d MiB", s.Profile.Server, whose, (f.Size+mb-1)/mb)
		diagnose.Oversized(s.Evidence(diagnostics.StageCall, nil, time.Time{}), &d, int(f.Size/mb+1))
	}

	return d
}

// Bounds of what SendAsync has not written yet. At worst that is maxUnsent × (maxUnsentLine + 8 KiB for
// a goroutine), which is 5 MiB for a process.
const (
	maxUnsent     = 128
	maxUnsentLine = 32 << 10
)

// SendAsync sends a server one of our messages without waiting. The server may not read before we
// have read its output, and the timeouts of other calls must not wait for a server that hangs. A
// message is dropped if it is too long or too many wait. Only a task of the session may call SendAsync.
func (s *Server) SendAsync(server *mcpproxy.Conn, line []byte) {
	if server == nil || len(line) > maxUnsentLine {
		return
	}
	if s.unsent.Add(1) > maxUnsent {
		s.unsent.Add(-1)
		return
	}
	s.Client.Tasks.Go(func() {
		defer s.unsent.Add(-1)
		server.Inject(line)
	})
}

// Sent reports whether SendAsync has nothing left to write.
func (s *Server) Sent() bool { return s.unsent.Load() == 0 }

// Refusal is the diagnosis of a message that mcp-jail refuses. what follows the name of the server.
func Refusal(code diagnostics.Code, page diagnostics.Page, server, tool, what, fix string) diagnostics.Diagnosis {
	return diagnostics.Diagnosis{
		Code: code, Stage: diagnostics.StageCall, Attribution: diagnostics.Certain, Server: server, Tool: tool,
		Explain: page, What: fmt.Sprintf("server %q: %s", server, what), Fix: fix,
	}
}

// TooManyRequests is the answer to a request for which there is no memory.
func TooManyRequests(server, tool string, id []byte) diagnostics.Diagnosis {
	if len(id) > mcpproxy.MaxID {
		return Refusal(-32603, diagnostics.PageMessage, server, tool,
			fmt.Sprintf("the id of the request is longer than %d bytes", mcpproxy.MaxID), "have the client use shorter ids")
	}
	return Refusal(-32603, diagnostics.PageMessage, server, tool,
		"too many requests wait for an answer already, and mcp-jail keeps no more of them", "have the client wait for answers before it sends more")
}

// burst is how long a server must write only messages before the next line that is not a message
// is announced again.
const burst = 5 * time.Second

// strayLines are the lines of a server's stdout that are not MCP messages. The goroutine that reads the
// server uses them.
type strayLines struct {
	server *Server
	last   time.Time
}

// Show writes such a line to stderr. The diagnosis gets the line too: it often says why nothing else
// follows.
func (l *strayLines) Show(f *mcpproxy.Frame) {
	s, now := l.server, time.Now()
	if now.Sub(l.last) > burst && !f.Blank() {
		s.Client.Stderr.SayLine(fmt.Sprintf("server %q writes lines to its stdout that are not MCP messages; they are shown here instead%s:", s.Profile.Server, diagnostics.PageStdout.Reference()))
	}
	if !f.Blank() {
		l.last = now
	}
	line := f.Bytes()
	if line == nil {
		s.Client.Stderr.SayLine(fmt.Sprintf("(a line of %d bytes)", f.Size))
		return
	}
	s.Tail.Write(line)
	shown := diagnostics.NewStderrFilter(s.Client.Stderr, s.Redact, s.Client.Config.Rows)
	shown.Write(line)
	shown.Flush()
}
