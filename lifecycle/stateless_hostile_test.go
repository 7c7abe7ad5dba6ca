//go:build unix

package lifecycle

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// TestAsksUncalled: a question is for the client only while its process works for it;
// else it would be taken for part of the call of another.
func TestAsksUncalled(t *testing.T) {
	f := newShop()
	f.options = func(tool string, _ int) string {
		if tool == "echo" {
			return `after={"jsonrpc":"2.0","id":"early","method":"sampling/createMessage"}`
		}
		return ""
	}
	p := beginStateless(t, f, func(_ *Session, o *Stateless) {
		o.Warm = func(tool string) int { return strings.Count(tool, "echo") }
	})
	p.greet()
	p.send(legacy("1", "tools/list", "{}"))
	p.answer("1")
	eventually(t, "the refusal", func() bool {
		return strings.Contains(f.saw("echo", 0), `"id":"early","error":{"code":-32603,"message":"mcp-jail: no call is under way`)
	})
	p.send(callOf("2", "behind", "{}"))
	p.answer("2")
	<-f.of("behind")[0].done
	p.nothing()
}

// TestStuffed: a process that asks for more than it reads gives back its slot.
func TestStuffed(t *testing.T) {
	f := newShop()
	f.options = func(tool string, _ int) string {
		if tool == "never" {
			return "stuff"
		}
		return ""
	}
	p := beginStateless(t, f, atMost(1))
	p.greet()
	p.send(callOf("1", "never", "{}"), callOf("2", "echo", "{}"))
	if p.answer("1").Error == nil {
		t.Error("no failure")
	}
	has(t, p.answer("2").line, "tool=echo")
	has(t, p.nothing(), `tool "never" does not read what it has asked for; it was ended`)
}

// TestOutboxGivenUp: who has given up does not wait for room.
func TestOutboxGivenUp(t *testing.T) {
	var o sendQueue
	o.init(&countingWriter{})
	ctx, cancel := context.WithCancel(t.Context())
	frame := func() *mcpproxy.Frame {
		return mcpproxy.Parse([]byte(`{"method":"` + strings.Repeat("m", maxSendQueue/2) + `"}`))
	}
	o.enqueue(ctx, frame(), nil)
	done := make(chan struct{})
	go func() {
		o.enqueue(ctx, frame(), nil)
		close(done)
	}()
	select {
	case <-done:
		t.Fatal("there was room")
	case <-time.After(50 * time.Millisecond):
	}
	cancel()
	<-done
	if len(o.frames) != 1 {
		t.Errorf("%d frames", len(o.frames))
	}
}

// TestReadyStuffed: what a process is told when it is ready waits for nobody to read,
// since all of the session would.
func TestReadyStuffed(t *testing.T) {
	f := newShop()
	errors, err := os.Create(t.TempDir() + "/stderr")
	if err != nil {
		t.Fatal(err)
	}
	defer errors.Close()
	s := newStatelessSession(Session{Launcher: f, Err: errors}, Stateless{})
	defer close(s.client.finished)
	w := &worker{session: s, client: s.client, info: &clientInfo{era: mcpproxy.Legacy}, tool: "echo"}
	w.server.init(s.client, s.client.config.Profile)
	w.queue.init(&countingWriter{})
	w.queue.size = maxSendQueue
	killed := &killed{}
	w.proc, s.logLevel = killed, []byte("{}")
	w.markReady()
	if !s.mu.TryLock() || !killed.yes {
		t.Errorf("killed: %v", killed.yes)
	}
}

type killed struct {
	Process
	yes bool
}

func (k *killed) Kill() error { k.yes = true; return nil }

// TestLongID: a process cannot have us keep much by what it calls its requests.
func TestLongID(t *testing.T) {
	p := beginStateless(t, newShop(), nil)
	p.greet()
	p.send(callOf("1", "ask", `{"id":"`+strings.Repeat("x", maxRequestIDLen-5)+`"}`)) // with the quotes, and those of "t"
	p.send(replyTo(p.told("sampling/createMessage"), "{}"))
	has(t, p.answer("1").line, `result={}`)
	p.send(callOf("2", "ask", `{"id":"`+strings.Repeat("x", maxRequestIDLen-4)+`"}`))
	has(t, p.answer("2").line, "mcp-jail: the id or the progress token is too long")
	p.nothing()
}

// TestManyQuestions: a process that asks without end leaves the others room, and has
// room again when it was answered.
func TestManyQuestions(t *testing.T) {
	s := newStatelessSession(Session{}, Stateless{})
	defer close(s.client.finished)
	pass := func(w *worker, id int) bool {
		f := mcpproxy.Parse(fmt.Appendf(nil, `{"id":%d,"method":"m"}`, id))
		return s.forwardServerRequest(w, f, &f.Messages[0])
	}
	one, other := &worker{session: s}, &worker{session: s}
	for i := range maxWorkerRequests {
		if !pass(one, i) {
			t.Fatalf("no room for %d", i)
		}
	}
	if pass(one, -1) || !pass(other, 1) {
		t.Error("one process has taken the room of the others")
	}
	if s.takeServerRequest([]byte("1")) == nil || s.takeServerRequest([]byte("1")) != nil || !pass(one, -1) || pass(one, -2) {
		t.Error("an answer does not make room for one")
	}
	for range maxWorkerRequests / 10 { // taken back
		f := mcpproxy.Parse([]byte(`{"method":"notifications/cancelled","params":{"requestId":-1}}`))
		if !s.cancelServerRequest(one, f, &f.Messages[0]) || !pass(one, -1) {
			t.Fatal("what was taken back does not make room")
		}
	}
}

// TestManyTools: a server cannot have us remember ever more tools, nor ask for each
// whether it has spares.
func TestManyTools(t *testing.T) {
	s := newStatelessSession(Session{}, Stateless{Warm: func(tool string) int { return strings.Count(tool, "echo") }})
	defer close(s.client.finished)
	for n := range 3 {
		list := []string{`{"name":"echo"}`}
		for i := range maxTools / 2 {
			list = append(list, fmt.Sprintf(`{"name":"%d %d"}`, n, i))
		}
		s.addToolsPage([]byte(`{"tools":[`+strings.Join(list, ",")+`]}`), true)
	}
	if n, tools := len(s.cache.tools), s.pool.order; n != maxTools || !s.cache.tools["0 1"] || len(tools) != 1 || tools[0] != "echo" {
		t.Errorf("%d tools, %d with spares", n, len(tools))
	}
}

// TestOutdated: when the policy has come to mean something else on the host, no call
// gets a spare that is held by what it meant before, and no listing process is started
// under that.
func TestOutdated(t *testing.T) {
	f := newShop()
	var means atomic.Value
	means.Store("/before")
	p := beginStateless(t, f, func(s *Session, o *Stateless) {
		o.Warm = func(tool string) int { return strings.Count(tool, "echo") }
		o.Tool = func(name string) (Tool, error) {
			profile := *s.Profile
			profile.Tool, profile.Dir = name, means.Load().(string)
			return Tool{Profile: &profile}, nil
		}
	})
	p.greet()
	p.send(legacy("1", "tools/list", "{}"))
	p.answer("1")
	ready := func(n int) {
		t.Helper()
		eventually(t, "a spare", func() bool { return strings.Contains(f.saw("echo", n), "initialized") })
		time.Sleep(50 * time.Millisecond) // until it counts as one
	}
	ready(0)
	p.send(callOf("2", "echo", "{}")) // the control
	p.answer("2")
	if saw := f.saw("echo", 0); !strings.Contains(saw, "tools/call") {
		t.Errorf("the spare saw %q", saw)
	}
	ready(1)
	means.Store("/now")
	p.send(callOf("3", "echo", "{}"), legacy("4", "resources/read", `{"uri":"crash"}`))
	p.answer("3")
	p.answer("4")
	p.send(legacy("5", "resources/read", `{"uri":"x"}`))
	p.answer("5")
	<-f.of("echo")[1].done
	p.nothing()
	if saw := f.saw("echo", 1); strings.Contains(saw, "tools/call") {
		t.Errorf("the outdated spare saw %q", saw)
	}
	if got := f.dirs(""); len(got) != 2 || got[0] != "/before" || got[1] != "/now" {
		t.Errorf("the listing processes were started under %q", got)
	}
}

// TestNameless: a call of a tool without a name is not one of the listing process's.
func TestNameless(t *testing.T) {
	f := newShop()
	f.options = func(string, int) string { return "tools=,echo" }
	p := beginStateless(t, f, func(_ *Session, o *Stateless) { o.Declared = []string{""} })
	p.greet()
	p.send(legacy("1", "tools/list", "{}"))
	has(t, p.answer("1").line, `{"name":""}`)
	p.send(callOf("2", "", "{}"), callOf("3", "echo", "{}"))
	has(t, p.answer("2").line, `"code":-32602`, "without a name")
	p.answer("3")
	p.nothing()
	if n := f.started(""); n != 1 {
		t.Errorf("%d listing processes", n)
	}
}
