//go:build unix

package lifecycle

import (
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

const probe = `{"jsonrpc":"2.0","id":"p","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`

// impatientWithProbes makes a session give up on an ignored probe soon.
func impatientWithProbes(s *Session) { s.times.discover = 100 * time.Millisecond }

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

// TestDiscoverGuardOnce: when the restarted server dies too, every request gets a startup
// failure.
func TestDiscoverGuardOnce(t *testing.T) {
	t.Parallel()
	p := begin(t, &fake{server: "dies-twice"}, nil)
	p.send(probe)
	isGuardAnswer(t, p.line())
	p.send(initialize)
	if got := failureOf(t, p.line()).String(); got != "0 -31002 boot" {
		t.Errorf("got %s", got)
	}
	p.send(`{"id":5,"method":"server/discover"}`)
	if got := failureOf(t, p.line()).String(); got != "5 -31002 boot" {
		t.Errorf("got %s", got)
	}
	p.in.Close()
	p.rest()
	status, stderr := p.ended()
	if status != 102 || p.fake.starts != 2 || ownWords(stderr) == "" || len(p.record.Diagnoses) != 1 {
		t.Errorf("status %d, %d starts, stderr %q, record %+v", status, p.fake.starts, stderr, p.record.Diagnoses)
	}
}

// TestThrowAwayProbe: a client starts a server for a server/discover only, and ends it by
// end-of-file, by a signal or by both, before or after the answer.
func TestThrowAwayProbe(t *testing.T) {
	t.Parallel()
	for _, server := range []string{"dies", "ignores", "legacy", "scribe"} {
		for _, how := range []string{"eof", "signal", "both", "pipelined"} {
			t.Run(server+" "+how, func(t *testing.T) {
				p := begin(t, &fake{server: server}, impatient)
				if how == "pipelined" {
					io.WriteString(p.in, probe) // without a line end
				} else {
					p.send(probe)
				}
				if how != "pipelined" && server != "ignores" {
					p.line()
				}
				if how != "signal" {
					p.in.Close()
				}
				if how != "eof" && how != "pipelined" {
					p.cancel()
				}
				rest := p.rest()
				if how == "pipelined" && strings.Count(rest, "\n") != 1 {
					t.Errorf("got %q", rest)
				}
				if _, stderr := p.ended(); ownWords(stderr) != "" || p.fake.starts != 1 || len(p.record.Diagnoses) != 0 {
					t.Errorf("%d starts, stderr %q", p.fake.starts, stderr)
				}
			})
		}
	}
}

// TestDiscoverGuardReplays: the frames after the discover reach the restarted server, also
// if the client has ended meanwhile. A missing last line end stays missing.
func TestDiscoverGuardReplays(t *testing.T) {
	t.Parallel()
	p := begin(t, &fake{server: "dies"}, nil)
	io.WriteString(p.in, probe+"\n"+initialize)
	p.in.Close()
	rest := p.rest()
	guarded, answer, _ := strings.Cut(rest, "\n")
	isGuardAnswer(t, guarded)
	if !strings.HasPrefix(answer, `{"jsonrpc":"2.0","id":0,"result":`) {
		t.Errorf("then %q", answer)
	}
	if _, stderr := p.ended(); !strings.Contains(stderr, "saw: "+initialize) || p.fake.starts != 2 {
		t.Errorf("%d starts, stderr %q", p.fake.starts, stderr)
	}
}

// TestDiscoverGuardDropsOldAnswers: an answer to a request of the dead server does not
// reach the restarted one.
func TestDiscoverGuardDropsOldAnswers(t *testing.T) {
	t.Parallel()
	p := begin(t, &fake{server: "asks-dies"}, nil)
	p.send(probe)
	if got := p.line(); !strings.Contains(got, "ping") {
		t.Errorf("got %q", got)
	}
	isGuardAnswer(t, p.line())
	p.send(`{"jsonrpc":"2.0","id":0,"result":{}}`, initialize)
	p.line()
	// Nor is a late answer to the probe expected of it, whose id is free again.
	p.send(`{"jsonrpc":"2.0","id":"p","method":"tools/list"}`)
	if got := p.line(); !strings.Contains(got, `"id":"p","result"`) {
		t.Errorf("got %q", got)
	}
	p.in.Close()
	p.rest()
	if _, stderr := p.ended(); strings.Contains(stderr, `saw: {"jsonrpc":"2.0","id":0,"result"`) || !strings.Contains(stderr, "saw: "+initialize) {
		t.Errorf("stderr %q", stderr)
	}
}

// TestIgnoredDiscover: an ignored discover is answered, also if later requests were
// answered before it.
func TestIgnoredDiscover(t *testing.T) {
	t.Parallel()
	// Long enough for the program to answer initialize meanwhile.
	p := begin(t, &fake{server: "ignores"}, func(s *Session) { s.times.discover = time.Second })
	p.send(probe, initialize)
	if got := p.line(); !strings.Contains(got, `"id":0,"result"`) {
		t.Errorf("got %q", got)
	}
	isGuardAnswer(t, p.line())
	p.in.Close()
	p.rest()
	if _, stderr := p.ended(); ownWords(stderr) != "" {
		t.Errorf("stderr %q", stderr)
	}
}

// TestIgnoredThenDead: after an ignored discover, a death of the server is no reason to
// restart it.
func TestIgnoredThenDead(t *testing.T) {
	t.Parallel()
	p := begin(t, &fake{server: "ignores-dies"}, impatientWithProbes)
	p.send(probe)
	isGuardAnswer(t, p.line())
	p.send(initialize)
	if got := failureOf(t, p.line()).String(); got != "0 -31002 boot" {
		t.Errorf("got %s", got)
	}
	p.in.Close()
	p.rest()
	if status, _ := p.ended(); status != 102 || p.fake.starts != 1 {
		t.Errorf("status %d, %d starts", status, p.fake.starts)
	}
}

// TestNotOnDiscover: a server that read nothing is not restarted, and a slow server does
// not count as ignoring the discover.
func TestNotOnDiscover(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("what was read is seen on Linux only")
	}
	for server, want := range map[string]string{"crash": `"p" -31002 boot`, "unreading": `"p" -31006 boot`} {
		t.Run(server, func(t *testing.T) {
			p := begin(t, &fake{server: server}, func(s *Session) {
				impatientWithProbes(s)
				s.Profile.Startup = time.Second
			})
			p.send(probe)
			if got := failureOf(t, p.line()).String(); got != want {
				t.Errorf("got %s", got)
			}
			p.in.Close()
			p.rest()
			if p.ended(); p.fake.starts != 1 {
				t.Errorf("%d starts", p.fake.starts)
			}
		})
	}
}

// TestRestartFails: the server cannot be started again.
func TestRestartFails(t *testing.T) {
	t.Parallel()
	f := &fake{server: "dies"}
	p := begin(t, f, nil)
	p.send(probe)
	isGuardAnswer(t, p.line())
	f.err = io.ErrClosedPipe
	p.send(initialize)
	if got := failureOf(t, p.line()).String(); got != "0 -31005 exec" {
		t.Errorf("got %s", got)
	}
	p.in.Close()
	p.rest()
	if status, _ := p.ended(); status != 3 || p.err != io.ErrClosedPipe {
		t.Errorf("status %d, error %v", status, p.err)
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
	guard.awaitsAnswer()
	io.ReadFull(r, make([]byte, 3))
	<-done
	if to.Load() == nil || !guard.ready.isSet() {
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
