package lifecycle

import (
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// burst is the silence that separates two bursts of junk.
const burst = 5 * time.Second

func (s *statefulSession) hooks() mcpproxy.Hooks {
	return mcpproxy.Hooks{
		ClientRequest:   s.onRequest,
		ClientResponse:  s.server.onReply,
		ServerRequest:   func(e *mcpproxy.Envelope) bool { return s.server.answerRootsList(e, s.upstream.server.Load()) },
		TooManyPending:  s.tooManyPending,
		FirstResponse:   s.firstAnswer,
		ReservedMembers: stripReserved,
		ServerResponse:  s.onResponse,
		Oversized:       s.onOversized,
		Junk:            s.server.showNonMessage,
	}
}

// firstAnswer says which answer ends the start of a server. An error to
// server/discover does not: it is how a legacy server declines the probe, and it
// may still hang on what comes next.
func (s *statefulSession) firstAnswer(e *mcpproxy.Envelope, c *mcpproxy.Call) bool {
	if c != nil && e.Error.Present() && string(c.Method) == "server/discover" {
		select {
		case s.discoverDeclined <- struct{}{}:
		default:
		}
		return false
	}
	s.answered.set()
	s.upstream.guard.disabled.Store(true)
	return true
}

// stripReserved takes out what a server says in our name.
func stripReserved(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	f.Cut(e.Reserved, &e.ResultMeta, &e.ErrorData)
}

// onResponse looks at an answer on its way to the client. Answers of a server that
// the jail did not get in the way of keep their bytes.
func (s *statefulSession) onResponse(f *mcpproxy.Frame, e *mcpproxy.Envelope, c *mcpproxy.Call) {
	method := string(c.Method)
	if method != "initialize" && !s.checkedStartup {
		s.checkedStartup = true
		stderr := s.server.pipes.stderr.file
		s.client.tasks.Go(func() { s.reportStartupComplaint(stderr) })
	}
	if method == "server/discover" && s.upstream.guard.isDiscover(c) {
		s.upstream.guard.markAnswered()
	}
	switch {
	case method == "tools/call":
		s.server.annotateResult(f, e, c)
	case e.Error.Present() && isDiscoveryMethod(method) && !declinesMethod(method, string(e.Code)):
		ev := s.server.evidence(diagnostics.StageList, c, time.Time{})
		ev.Text = failureText(f, e)
		s.server.diagnose(ev)
	}
}

// reportStartupComplaint tells of what a server that has started says it could not reach. What it
// wrote before its answer is in the pipe, or has been read.
func (s *statefulSession) reportStartupComplaint(stderr *os.File) {
	for range 20 {
		time.Sleep(5 * time.Millisecond)
		if unreadBytes(stderr) == 0 {
			break
		}
	}
	if d, ok := diagnostics.Complaint(s.server.evidence(diagnostics.StageBoot, nil, time.Time{})); ok {
		s.client.announce(d)
	}
}

// annotateResult adds to the result of a tool what docs/reference.md "Answers to tool
// calls" promises, and nothing else: denials to its _meta if there are any, and a
// block of text if it failed and there is something to say of it.
func (s *server) annotateResult(f *mcpproxy.Frame, e *mcpproxy.Envelope, c *mcpproxy.Call) {
	failed := e.IsError || e.Error.Present()
	if !failed && len(s.denials(c.Start)) == 0 {
		return
	}
	ev := s.evidence(diagnostics.StageCall, c, c.Start)
	if n := s.tail.LineCount() - int(s.firstCallMark.Load()); n < tailLines { // what it said of its start was told
		ev.Stderr, ev.RawStderr = s.tail.Lines(n), s.tail.RawLines(n)
	}
	if failed {
		ev.Text = failureText(f, e)
	}
	d := diagnostics.Diagnose(ev)
	if d.Silent() {
		s.recordDiagnosis(d)
		return
	}
	if failed || slices.ContainsFunc(ev.Denials, func(d diagnostics.Denial) bool { return !d.Background }) {
		s.announce(d) // what is usual was told before
	}
	if !failed {
		s.client.usual.learn(ev.Denials)
	}
	if e.Error.Present() {
		addDiagnosisToError(f, e, d.ErrorData())
		return
	}
	if meta := d.ResultMeta(); len(meta) > 0 {
		f.AddMeta(&e.Result, &e.ResultMeta, diagnostics.MetaDenials, meta)
	}
	if block := d.ResultBlock(); failed && len(block) > 0 {
		if e.Content.Present() {
			f.AddElement(&e.Content, block)
		} else {
			f.AddMember(&e.Result, "content", append(append([]byte{'['}, block...), ']'))
		}
	}
}

// addDiagnosisToError puts a diagnosis into the data of a server's own error. Data that is no
// object becomes a member of one: all of its bytes stay.
func addDiagnosisToError(f *mcpproxy.Frame, e *mcpproxy.Envelope, diagnosis []byte) {
	switch {
	case diagnosis == nil:
	case e.ErrorData.Kind == '{':
		f.AddMember(&e.ErrorData, diagnostics.DataDiagnosis, diagnosis)
	case e.ErrorData.Present():
		f.Wrap(e.ErrorData, []byte(`{"`+diagnostics.DataServer+`":`), []byte(`,"`+diagnostics.DataDiagnosis+`":`+string(diagnosis)+`}`))
	default:
		f.AddMember(&e.Error, "data", []byte(`{"`+diagnostics.DataDiagnosis+`":`+string(diagnosis)+`}`))
	}
}

// isDiscoveryMethod reports whether a client needs the answer to know what a server
// offers.
func isDiscoveryMethod(method string) bool {
	switch method {
	case "tools/list", "resources/list", "resources/templates/list", "prompts/list", "server/discover":
		return true
	}
	return false
}

// declinesMethod reports whether an error is how an honest server declines:
// "Method not found" for what it does not offer, and, to server/discover, what
// legacy servers say to a request before initialize, or a modern one to a
// version that it does not speak.
func declinesMethod(method, code string) bool {
	switch code {
	case "-32601":
		return true
	case "-32600", "-32602", "-32022":
		return method == "server/discover"
	}
	return false
}

// tooLargeDiagnosis is the diagnosis of a message beyond the limit.
func (s *server) tooLargeDiagnosis(from mcpproxy.Side, f *mcpproxy.Frame) diagnostics.Diagnosis {
	const mb = 1 << 20
	d := diagnostics.Diagnosis{
		// No code of ours fits; -32603 is JSON-RPC's "Internal error", and the data
		// says whose it is.
		Code: -32603, Stage: diagnostics.StageCall, Attribution: diagnostics.Certain, Server: s.profile.Server,
	}
	whose := "a message to it"
	if from == mcpproxy.FromServer {
		whose = "a message"
		if len(f.Messages) > 0 && f.Messages[0].Kind() == mcpproxy.Response {
			whose = "an answer"
		}
	}
	if f.Err != nil {
		d.What = fmt.Sprintf("server %q: %s of %d MiB could not be kept until its end: %v", s.profile.Server, whose, f.Size/mb, f.Err)
	} else {
		d.What = fmt.Sprintf("server %q: %s has %d MiB, and message_mb = %d is the limit", s.profile.Server, whose, (f.Size+mb-1)/mb, s.client.limit()/mb)
		d.Fix = fmt.Sprintf("start it with --limit message_mb=%d", f.Size/mb+1)
		if !s.client.config.InPlace {
			d.Grant = []string{"[servers." + s.profile.Server + ".limits]", fmt.Sprintf("message_mb = %d", f.Size/mb+1)}
			d.Fix = d.Grant[1] + " under " + d.Grant[0]
		}
	}

	return d
}

// onOversized answers in place of a message beyond the limit, for its id alone: the
// session goes on.
func (s *statefulSession) onOversized(from mcpproxy.Side, f *mcpproxy.Frame) {
	d := s.server.tooLargeDiagnosis(from, f)
	back := s.client.proxy.Client // where the error goes: to whoever asked
	var call mcpproxy.Call
	told := false
	for i := range f.Messages {
		e := &f.Messages[i]
		if !e.Trackable() {
			continue
		}
		kind := e.Kind()
		if from == mcpproxy.FromServer && kind == mcpproxy.Response {
			s.answered.set()
			if !s.client.proxy.Requests.Take(e.ID, &call) {
				continue
			}
			told = true
			if call.Answered {
				continue
			}
			d.Tool = string(call.Tool)
			s.client.announce(d)
			back.Inject(d.ErrorFrame(call.ID))
			continue
		}
		switch {
		case kind == mcpproxy.Request && from == mcpproxy.FromClient:
			told = true
			s.client.announce(d)
			back.Inject(d.ErrorFrame(e.ID))
		case kind == mcpproxy.Request:
			told = true
			s.client.announce(d)
			s.server.sendAsync(s.upstream.server.Load(), d.ErrorFrame(e.ID))
		case kind == mcpproxy.Response && s.client.proxy.ServerRequests.Take(e.ID, &call):
			if server := s.upstream.server.Load(); server != nil {
				told = true
				s.client.announce(d)
				server.Inject(d.ErrorFrame(e.ID))
			}
		}
	}
	if !told { // nobody waits for it
		s.client.stderr.Say(fmt.Sprintf("mcp-jail: %s; it was dropped\n", d.What))
	}
}

// showNonMessage shows what a server printed to its stdout by mistake. It also counts as
// stderr for a diagnosis: it is often the reason why nothing else follows.
func (s *server) showNonMessage(f *mcpproxy.Frame) {
	now := time.Now()
	if now.Sub(s.lastJunk) > burst && !f.Blank() {
		s.client.stderr.Say(fmt.Sprintf("mcp-jail: server %q writes to its stdout what is no MCP message; it is shown here instead:\n", s.profile.Server))
	}
	if !f.Blank() {
		s.lastJunk = now
	}
	line := f.Bytes()
	if line == nil {
		s.client.stderr.Say(fmt.Sprintf("mcp-jail: (a line of %d bytes)\n", f.Size))
		return
	}
	s.tail.Write(line)
	shown := diagnostics.NewStderrFilter(s.client.stderr, s.redact)
	shown.Write(line)
	shown.Flush()
}
