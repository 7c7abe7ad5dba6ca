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

// TestClientPauses: a client that stands still for longer than the draining takes
// gets everything all the same, as it would without us.
func TestClientPauses(t *testing.T) {
	p := begin(t, &fake{server: "parting"}, func(s *Session) { s.times.drainTotal = 50 * time.Millisecond })
	p.send(initialize, `{"id":77,"method":"tools/call","params":{"name":"t"}}`)
	waitFor(p)
	<-p.fake.proc.done
	time.Sleep(500 * time.Millisecond)
	lines := strings.SplitAfter(p.rest(), "\n")
	if len(lines) != 303 || lines[300] != `{"jsonrpc":"2.0","id":0,"result":{}}`+"\n" {
		t.Fatalf("%d lines, the last but one %.80q", len(lines), lines[len(lines)-2])
	}
	if got := failureOf(t, lines[301]).String(); got != "77 -31003 call t" {
		t.Errorf("got %s", got)
	}
	if status, _ := p.ended(); status != 4 {
		t.Errorf("status %d", status)
	}
}

// TestPauseEnds: a client that stands still can end the session in every way.
func TestPauseEnds(t *testing.T) {
	for name, end := range map[string]func(*play){
		"stdin":  func(p *play) { p.in.Close() },
		"stdout": func(p *play) { p.out.Close() },
		"signal": func(p *play) { p.cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			p := begin(t, &fake{server: "parting"}, func(s *Session) {
				if name == "stdin" {
					s.times.drainTotal = 50 * time.Millisecond
				} else {
					s.times.drainTotal = time.Hour
				}
			})
			p.send(initialize)
			waitFor(p)
			<-p.fake.proc.done
			end(p)
			if status, _ := p.ended(); status != 4 {
				t.Errorf("status %d", status)
			}
		})
	}
}

// TestTimeoutsOfAHungServer: the one that cannot be told of a cancellation does
// not keep the next call from its end.
func TestTimeoutsOfAHungServer(t *testing.T) {
	p := begin(t, &fake{server: "hung"}, func(s *Session) {
		impatient(s)
		s.Profile.Call = 300 * time.Millisecond
	})
	p.send(initialize)
	p.line()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		io.WriteString(p.in, `{"id":1,"method":"tools/call","params":{"name":"a"}}`+"\n")
		time.Sleep(150 * time.Millisecond)
		io.WriteString(p.in, `{"id":2,"method":"tools/call","params":{"name":"b","x":"`+strings.Repeat("y", 3<<20)+`"}}`+"\n")
	}()
	for _, want := range []string{"1 -31006 call a", "2 -31006 call b"} {
		if got := failureOf(t, p.line()).String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	p.cancel()
	<-sent
	p.ended()
}

// TestOversizedRequestOfABusyServer: our answer to it cannot be read yet, and
// what the server says meanwhile is relayed. A notification that is dropped is at
// least told.
func TestOversizedRequestOfABusyServer(t *testing.T) {
	p := begin(t, &fake{server: "wordy"}, func(s *Session) { s.Profile.Limits.MessageMB = 1 })
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		line := `{"method":"m","params":"` + strings.Repeat("y", 500<<10) + `"}` + "\n"
		io.WriteString(p.in, initialize+"\n"+strings.Repeat(line, 5))
		p.in.Close()
	}()
	if got := p.line(); got != `{"jsonrpc":"2.0","id":0,"result":{}}`+"\n" {
		t.Errorf("got %.80q", got)
	}
	<-sent
	p.rest()
	if status, stderr := p.ended(); status != 0 || !strings.Contains(stderr, "a message has 3 MiB") || strings.Count(stderr, "dropped") != 2 {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
}

// TestReplayHoldsNobody: a fresh server that does not read yet.
func TestReplayHoldsNobody(t *testing.T) {
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
