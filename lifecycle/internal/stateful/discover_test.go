//go:build unix

package stateful

import (
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

const probe = `{"jsonrpc":"2.0","id":"p","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`

func isGuardAnswer(t *testing.T, line string) {
	t.Helper()
	if !strings.HasPrefix(line, `{"jsonrpc":"2.0","id":"p","error":{"code":-32601,`) || !strings.Contains(line, `"data":{"dev.mcp-jail/discover-guard":{`) {
		t.Errorf("got %q", line)
	}
}

// ownWords are the lines of stderr that are ours.
func ownWords(stderr string) string {
	var b strings.Builder
	for line := range strings.Lines(stderr) {
		if strings.HasPrefix(line, "mcp-jail: ") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// TestThrowAwayProbe: a client starts a server for a server/discover only, and ends it by
// end-of-file, by a signal or by both, before or after the answer.
func TestThrowAwayProbe(t *testing.T) {
	t.Parallel()
	for _, server := range []string{"dies", "ignores", "legacy", "scribe"} {
		for _, how := range []string{"eof", "signal", "both", "pipelined"} {
			t.Run(server+" "+how, func(t *testing.T) {
				p := begin(t, &sessiontest.Fake{Server: server}, sessiontest.Ruthless)
				if how == "pipelined" {
					io.WriteString(p.In, probe) // without a line end
				} else {
					p.Send(probe)
				}
				if how != "pipelined" && server != "ignores" {
					p.Line()
				}
				if how != "signal" {
					p.In.Close()
				}
				if how != "eof" && how != "pipelined" {
					p.Cancel()
				}
				rest := p.Rest()
				if how == "pipelined" && strings.Count(rest, "\n") != 1 {
					t.Errorf("got %q", rest)
				}
				if _, stderr := p.Ended(); ownWords(stderr) != "" || p.Fake.Starts != 1 || len(p.Record.Diagnoses) != 0 {
					t.Errorf("%d starts, stderr %q", p.Fake.Starts, stderr)
				}
			})
		}
	}
}

// TestDiscoverGuardReplays: the frames after the discover reach the restarted server, also
// if the client has ended meanwhile. A missing last line end stays missing.
func TestDiscoverGuardReplays(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Server: "dies"}, nil)
	io.WriteString(p.In, probe+"\n"+sessiontest.Initialize)
	p.In.Close()
	rest := p.Rest()
	guarded, answer, _ := strings.Cut(rest, "\n")
	isGuardAnswer(t, guarded)
	if !strings.HasPrefix(answer, `{"jsonrpc":"2.0","id":0,"result":`) {
		t.Errorf("then %q", answer)
	}
	if _, stderr := p.Ended(); !strings.Contains(stderr, "saw: "+sessiontest.Initialize) || p.Fake.Starts != 2 {
		t.Errorf("%d starts, stderr %q", p.Fake.Starts, stderr)
	}
}

// TestSlowDiscover: a server that is alive is waited for. What it answers late is the answer.
func TestSlowDiscover(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Server: "slow-probe"}, nil)
	p.Send(probe)
	sessiontest.Has(t, p.Line(), `{"jsonrpc":"2.0","id":"p","result":{"late":true}}`)
	if p.Close(); p.Fake.Starts != 1 {
		t.Errorf("%d starts", p.Fake.Starts)
	}
}

// TestIgnoredDiscover: a server that does not answer server/discover is waited for until the client leaves.
func TestIgnoredDiscover(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Server: "ignores"}, func(s *session.Session) { s.Profile.Startup = 50 * time.Millisecond })
	p.Send(probe)
	time.Sleep(500 * time.Millisecond)
	p.In.Close()
	isGuardAnswer(t, p.Rest())
	if p.Ended(); len(p.Record.Diagnoses) != 0 {
		t.Errorf("%v", p.Record.Diagnoses)
	}
}

// TestNotOnDiscover: a server that read nothing is not restarted.
func TestNotOnDiscover(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("what was read is seen on Linux only")
	}
	for server, want := range map[string]string{"crash": `"p" -31002 boot`, "unreading": `"p" -31006 boot`} {
		t.Run(server, func(t *testing.T) {
			p := begin(t, &sessiontest.Fake{Server: server}, func(s *session.Session) {
				if server == "unreading" { // the other one ends
					s.Profile.Startup = time.Second
				}
			})
			p.Send(probe, sessiontest.Initialize)
			sessiontest.IsFailure(t, p.Line(), want)
			p.In.Close()
			p.Rest()
			if p.Ended(); p.Fake.Starts != 1 {
				t.Errorf("%d starts", p.Fake.Starts)
			}
		})
	}
}

// TestRestartFails: the server cannot be started again.
func TestRestartFails(t *testing.T) {
	t.Parallel()
	f := &sessiontest.Fake{Server: "dies"}
	p := begin(t, f, nil)
	p.Send(probe)
	isGuardAnswer(t, p.Line())
	f.Err = io.ErrClosedPipe
	p.Send(sessiontest.Initialize)
	sessiontest.IsFailure(t, p.Line(), "0 -31005 exec")
	if _, _, status := p.Close(); status != 3 || p.Err != io.ErrClosedPipe {
		t.Errorf("status %d, error %v", status, p.Err)
	}
}

// TestReplayDoesNotBlock: the session goes on while the restarted server does not read the
// replay yet.
func TestReplayDoesNotBlock(t *testing.T) {
	t.Parallel()
	var guard discoverGuard
	guard.init()
	guard.replayLog = []byte("{}\n")
	r, w := io.Pipe()
	var to atomic.Pointer[mcpproxy.Conn]
	done := make(chan struct{})
	go func() {
		defer close(done)
		guard.replay(mcpproxy.NewConn(strings.NewReader(""), w, 0), &to)
	}()
	for range 50 { // until replay is in its write
		guard.mu.Lock()
		fresh := guard.restarted
		guard.mu.Unlock()
		if fresh {
			break
		}
		runtime.Gosched()
		time.Sleep(10 * time.Millisecond)
	}
	guard.isDiscover(&mcpproxy.Call{})
	io.ReadFull(r, make([]byte, 3))
	<-done
	if to.Load() == nil || !guard.ready.IsSet() {
		t.Error("the fresh server is not the one that is used")
	}
}

// TestReplayLogIsBounded: the frames after a server/discover are kept up to maxReplayLog.
// Beyond that the guard is disabled and keeps nothing.
func TestReplayLogIsBounded(t *testing.T) {
	t.Parallel()
	var guard discoverGuard
	guard.init()
	var server atomic.Pointer[mcpproxy.Conn]
	send := func(line string) { guard.beforeSend(mcpproxy.Parse([]byte(line)), &server) }
	send(`{"jsonrpc":"2.0","id":1,"method":"server/discover"}` + "\n")
	large := `{"jsonrpc":"2.0","method":"notifications/x","params":"` + strings.Repeat("x", maxReplayLog*2/3) + `"}` + "\n"
	if send(large); guard.disabled.Load() || len(guard.replayLog) != len(large) {
		t.Fatalf("of the first frame %d bytes are kept, disabled %v", len(guard.replayLog), guard.disabled.Load())
	}
	if send(large); !guard.disabled.Load() || len(guard.replayLog) != 0 {
		t.Errorf("%d bytes are kept, disabled %v", len(guard.replayLog), guard.disabled.Load())
	}
}

// TestDeclinedThenSilent: an error to server/discover is no first answer. A server that
// hangs or ends on the next request fails at its start.
func TestDeclinedThenSilent(t *testing.T) {
	t.Parallel()
	for server, want := range map[string]string{"declines-hang": "0 -31006 boot", "dies-hang": "0 -31006 boot"} {
		t.Run(server, func(t *testing.T) {
			p := begin(t, &sessiontest.Fake{Server: server}, func(s *session.Session) {
				s.Profile.Startup = time.Second
			})
			p.Send(probe)
			sessiontest.Has(t, p.Line(), "-32601")
			time.Sleep(1200 * time.Millisecond) // without a request the timeout does not run
			p.Send(sessiontest.Initialize)
			sessiontest.IsFailure(t, p.Line(), want)
			p.Send(`{"id":1,"method":"tools/list"}`)
			sessiontest.IsFailure(t, p.Line(), "1 "+want[2:])
			if _, _, status := p.Close(); status != 1 {
				t.Errorf("status %d", status)
			}
		})
	}
}

// TestSilentAtStartup: a server without a first answer is ended after the startup timeout, whatever comes
// first. Until then stderr says that it is waited for.
func TestSilentAtStartup(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Server: "silent"}, func(s *session.Session) {
		s.Profile.Startup = 300 * time.Millisecond
		session.TimesOf(s).SlowNote, session.TimesOf(s).SlowRepeat = 50*time.Millisecond, 100*time.Millisecond
	})
	p.Send(`[{"id":1,"method":"a"},{"method":"n"},{"id":2,"method":"b"}]`, sessiontest.Initialize)
	batch := p.Line()
	if !strings.HasPrefix(batch, "[{") || strings.Count(batch, "-31006") < 2 || !strings.Contains(batch, `"id":2`) {
		t.Errorf("got %q", batch)
	}
	sessiontest.IsFailure(t, p.Line(), "0 -31006 boot")
	status, stderr := p.Ended()
	if status != 1 || strings.Count(stderr, "waiting for the first answer") < 2 {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
}

// TestSilentUnasked: without a request, a server may be silent for longer than the startup
// timeout.
func TestSilentUnasked(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Server: "polite"}, func(s *session.Session) { s.Profile.Startup = time.Second })
	time.Sleep(1200 * time.Millisecond)
	p.Send(sessiontest.Initialize)
	if got := p.Line(); got != sessiontest.AnswerTo("0", sessiontest.Initialize) {
		t.Errorf("got %q", got)
	}
	p.Close()
}
