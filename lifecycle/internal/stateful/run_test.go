//go:build unix

package stateful

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/diagnostest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestStartFailure: each request gets the same error, whenever it comes.
func TestStartFailure(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		err    error
		status int
		want   string
	}{
		{"exec", &confine.StartError{Step: confine.StepExec, Errno: syscall.ENOENT, Detail: "npx"}, 1, "-31001 exec"},
		{"step", &confine.StartError{Step: "landlock", Errno: syscall.EPERM}, 3, "-31005 exec"},
		{"gap", &confine.GapError{Gaps: []confine.Gap{{Axis: policy.AxisNet, What: "hosts", Why: "no namespaces"}}}, 3, "-31005 exec"},
		{"other", os.ErrPermission, 3, "-31005 exec"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := begin(t, &sessiontest.Fake{Err: tt.err}, nil)
			p.Send(`{"id":"a","method":"server/discover"}`)
			sessiontest.IsFailure(t, p.Line(), `"a" `+tt.want)
			p.Send(`{"method":"notifications/initialized"}`, sessiontest.Initialize)
			sessiontest.IsFailure(t, p.Line(), "0 "+tt.want)
			p.In.Close()
			if rest := p.Rest(); rest != "" {
				t.Errorf("then %q", rest)
			}
			status, stderr := p.Ended()
			if status != tt.status || p.Err != tt.err || !strings.HasPrefix(stderr, "mcp-jail: ") {
				t.Errorf("status %d, error %v, stderr %q", status, p.Err, stderr)
			}
			if len(p.Record.Diagnoses) != 1 {
				t.Errorf("record %+v", p.Record)
			}
		})
	}
}

// TestNoRequestAfterFailure: a session whose start failed ends, also without a request.
func TestNoRequestAfterFailure(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Err: &confine.StartError{Step: confine.StepExec}}, func(s *session.Session) { s.Linger = 50 * time.Millisecond })
	if status, _ := p.Ended(); status != 1 {
		t.Errorf("status %d", status)
	}
}

// TestCrashAtStartup: the request comes before the crash, or after it.
func TestCrashAtStartup(t *testing.T) {
	t.Parallel()
	for _, server := range []string{"crash", "crash-late"} {
		t.Run(server, func(t *testing.T) {
			p := begin(t, &sessiontest.Fake{Server: server}, nil)
			if server == "crash" {
				<-sessiontest.WaitFor(p)
				time.Sleep(50 * time.Millisecond)
			}
			p.Send(sessiontest.Initialize)
			sessiontest.IsFailure(t, p.Line(), "0 -31002 boot")
			p.Send(`{"id":1,"method":"ping"}`)
			sessiontest.IsFailure(t, p.Line(), "1 -31002 boot")
			status, stderr := p.Ended()
			if status != 3 {
				t.Errorf("status %d", status)
			}
			if server == "crash" && !strings.Contains(stderr, "/secret/file") {
				t.Errorf("stderr %q", stderr)
			}
		})
	}
}

// TestRefuse: each request gets the diagnosis, and nothing is started.
func TestRefuse(t *testing.T) {
	t.Parallel()
	in, w, _ := os.Pipe()
	r, out, _ := os.Pipe()
	null, _ := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	defer null.Close()
	w.WriteString(sessiontest.Initialize)
	w.Close()
	Refuse(context.Background(), session.Session{In: in, Out: out, Err: null}, diagnostics.ConfigFailure("x", "mcp-jail.toml:1: wrong"))
	out.Close()
	p := &sessiontest.Play{T: t}
	p.Use(nil, r)
	sessiontest.IsFailure(t, p.Line(), "0 -31004 exec")
}

// begin starts a session.
func begin(t testing.TB, f *sessiontest.Fake, change func(*session.Session)) *sessiontest.Play {
	t.Helper()
	return sessiontest.BeginWith(t, f, change, Run)
}

func TestMain(m *testing.M) { sessiontest.MainOf(m, ownSession) }

// TestPipelinedThenEOF: requests before the end of stdin are answered.
func TestPipelinedThenEOF(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Server: "polite"}, nil)
	const n = 3000
	go func() {
		for i := range n {
			fmt.Fprintf(p.In, `{"id":%d,"method":"m"}`+"\n", i)
		}
		p.In.Close()
	}()
	for i := range n {
		if got, want := p.Line(), sessiontest.AnswerTo(fmt.Sprint(i), fmt.Sprintf(`{"id":%d,"method":"m"}`, i)); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	if status, _ := p.Ended(); status != 7 {
		t.Errorf("status %d", status)
	}
}

// TestNoNewlineAtTheEnd: a last message without a newline passes as it is.
func TestNoNewlineAtTheEnd(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Server: "no-newline"}, nil)
	p.Send(sessiontest.Initialize)
	if got := p.Rest(); got != `{"jsonrpc":"2.0","id":0,"result":{}}` {
		t.Errorf("got %q", got)
	}
	if status, _ := p.Ended(); status != 0 {
		t.Errorf("status %d", status)
	}
}

// TestStderrIsNeverBlocked: the client does not read stderr, and the server goes on.
func TestStderrIsNeverBlocked(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	testkit.Must(t, err)
	defer r.Close()
	p := begin(t, &sessiontest.Fake{Server: "flood"}, func(s *session.Session) { s.Err = w })
	p.Send(sessiontest.Initialize)
	if got := p.Line(); got != sessiontest.AnswerTo("0", sessiontest.Initialize) {
		t.Errorf("got %q", got)
	}
	p.Close()
	w.Close()
	if b, _ := io.ReadAll(r); len(b) > 1<<20 || len(b) == 0 {
		t.Errorf("%d bytes were forwarded", len(b))
	}
}

// observer is a process that is told of calls.
type observer struct {
	session.Process
	beside chan<- bool
}

func (o *observer) CallBegins(_ string, beside bool) { o.beside <- beside }
func (o *observer) CallEnds()                        {}

// TestCallObserver: a call runs beside others until they are answered or cancelled.
func TestCallObserver(t *testing.T) {
	t.Parallel()
	beside := make(chan bool, 8)
	p := begin(t, &sessiontest.Fake{Server: "scribe"}, func(s *session.Session) {
		inner := s.Launcher
		s.Launcher = session.LauncherFunc(func(ctx context.Context, p *policy.Profile, stdio confine.Stdio) (session.Process, error) {
			proc, err := inner.Start(ctx, p, stdio)
			if err != nil {
				return nil, err
			}
			return &observer{proc, beside}, nil
		})
	})
	const hang = `,"method":"tools/call","params":{"name":"hang"}}`
	p.Send(`{"id":1`+hang, `{"id":2`+hang, `{"method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"id":3`+hang, `{"method":"notifications/cancelled","params":{"requestId":3}}`,
		`{"method":"notifications/cancelled","params":{"requestId":2}}`, `{"id":4`+hang, `{"method":"notifications/cancelled","params":{"requestId":4}}`)
	for i, want := range []bool{false, true, true, false} {
		if got := <-beside; got != want {
			t.Errorf("call %d: %v", i+1, got)
		}
	}
	p.Close()
}

// TestStartupComplaint: when a server starts and complains on stderr about something that
// was refused, stderr and the record get the cause and the lines, once. A later failure is
// not explained by it. Harmless lines lead to nothing.
func TestStartupComplaint(t *testing.T) {
	t.Parallel()
	for server, complains := range map[string]bool{"grumbling": true, "polite-aloud": false} {
		t.Run(server, func(t *testing.T) {
			p := begin(t, &sessiontest.Fake{Server: server}, func(s *session.Session) {
				s.Profile.Entries = []policy.Entry{{Path: "/usr", Rights: policy.Read | policy.Execute}}
				diagnostest.Of(&s.Known).Exists = func(string) bool { return true }
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
			if complains != slices.ContainsFunc(p.Record.Diagnoses, func(d diagnostics.Diagnosis) bool { return d.Stage == diagnostics.StageStartup && d.CanAllow() }) {
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
	// A request of the server's is answered, and the client's own of that id waits on.
	p.Send(fmt.Sprintf(`{"id":5,"method":"tools/call","params":{"name":"big","arguments":{"size":%d,"asks":true}}}`, 3<<20))
	sessiontest.Has(t, p.Line(), `"id":5`, "was told")
	p.Close()
}
