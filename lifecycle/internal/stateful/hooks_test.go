//go:build unix

package stateful

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestStartupComplaint: when a server starts and complains on stderr about something that
// was refused, stderr and the record get the cause and the lines, once. A later failure is
// not explained by it. Harmless lines lead to nothing.
func TestStartupComplaint(t *testing.T) {
	t.Parallel()
	for server, complains := range map[string]bool{"grumbling": true, "polite-aloud": false} {
		t.Run(server, func(t *testing.T) {
			p := begin(t, &sessiontest.Fake{Server: server}, func(s *session.Session) {
				s.Profile.Entries = []policy.Entry{{Path: "/usr", Rights: policy.Read | policy.Execute}}
				s.Known.Exists = func(string) bool { return true }
			})
			p.Send(sessiontest.Initialize)
			p.Line()
			for range 2 {
				p.Send(`{"id":1,"method":"tools/list"}`)
				p.Line()
			}
			p.Send(`{"id":1,"method":"tools/call","params":{"name":"x"}}`)
			if got := p.Line(); strings.Contains(got, "/home/me/docs") {
				t.Errorf("the call was answered with %s", got)
			}
			_, stderr, _ := p.Close()
			said := strings.Count(stderr, `test has started, and complains on stderr`)
			if complains != (said == 1) || complains != strings.Contains(stderr, "mcp-jail grant test --last") {
				t.Errorf("said %d times: %s", said, stderr)
			}
			if complains != slices.ContainsFunc(p.Record.Diagnoses, func(d diagnostics.Diagnosis) bool { return d.Stage == diagnostics.StageStartup && len(d.Words) > 0 }) {
				t.Errorf("recorded %+v", p.Record.Diagnoses)
			}
		})
	}
}

// TestOversizedServerRequest: the server cannot read our error yet, and what it writes
// meanwhile is relayed. A notification that is dropped is reported.
func TestOversizedServerRequest(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Server: "wordy"}, func(s *session.Session) { s.Profile.Limits.MessageMB = 1 })
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		line := `{"method":"m","params":"` + strings.Repeat("y", 500<<10) + `"}` + "\n"
		io.WriteString(p.In, sessiontest.Initialize+"\n"+strings.Repeat(line, 5))
		p.In.Close()
	}()
	if got := p.Line(); got != `{"jsonrpc":"2.0","id":0,"result":{}}`+"\n" {
		t.Errorf("got %.80q", got)
	}
	<-sent
	p.Rest()
	if status, stderr := p.Ended(); status != 0 || !strings.Contains(stderr, "a message has 3 MiB") || strings.Count(stderr, "dropped") != 2 {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
}

// TestOversizedMessages: answers and requests that exceed message_mb are answered with an
// error; the session goes on.
func TestOversizedMessages(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Server: "big"}, func(s *session.Session) { s.Profile.Limits.MessageMB = 1 })
	call := func(id, size int) {
		p.Send(fmt.Sprintf(`{"id":%d,"method":"tools/call","params":{"name":"big","arguments":{"size":%d}}}`, id, size))
	}
	call(1, 1000)
	if got := p.Line(); len(got) < 1000 || strings.Contains(got, "error") {
		t.Errorf("got %.80q", got)
	}
	call(2, 3<<20)
	if got := sessiontest.FailureOf(t, p.Line()); got.String() != "2 -32603 call big" || !strings.Contains(got.Error.Message, "message_mb") {
		t.Errorf("got %v: %s", got, got.Error.Message)
	}
	call(3, 10)
	sessiontest.Has(t, p.Line(), `"id":3`)
	p.Send(`{"id":4,"method":"tools/list","params":{"x":"` + strings.Repeat("y", 2<<20) + `"}}`)
	if got := sessiontest.FailureOf(t, p.Line()); got.String() != "4 -32603 call" {
		t.Errorf("got %v", got)
	}
	p.Close()
}
