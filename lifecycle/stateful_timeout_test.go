//go:build unix

package lifecycle

import (
	"io"
	"strings"
	"testing"
	"time"
)

// TestTimeoutsOfHungServer: a server that does not read the cancellation of one call does
// not delay the timeout of the next.
func TestTimeoutsOfHungServer(t *testing.T) {
	t.Parallel()
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

// TestCancelledCall: a request that the client has cancelled gets no error, neither for a
// timeout nor for the server's end.
func TestCancelledCall(t *testing.T) {
	t.Parallel()
	p := begin(t, &fake{server: "scribe"}, func(s *Session) { s.Profile.Call = 300 * time.Millisecond })
	p.send(`{"id":1,"method":"tools/call","params":{"name":"hang"}}`, `{"method":"notifications/cancelled","params":{"requestId":1}}`)
	time.Sleep(600 * time.Millisecond)
	p.send(`{"id":2,"method":"tools/list"}`)
	if got := p.line(); !strings.Contains(got, `"id":2,"result"`) {
		t.Errorf("got %q", got)
	}
	p.in.Close()
	if rest := p.rest(); rest != "" {
		t.Errorf("then %q", rest)
	}
	if _, stderr := p.ended(); ownWords(stderr) != "" {
		t.Errorf("stderr %q", stderr)
	}
}

// TestTimedOutInBatch: the server's late answer to a batch passes without the call that
// was answered by us.
func TestTimedOutInBatch(t *testing.T) {
	t.Parallel()
	p := begin(t, &fake{server: "batch-late"}, func(s *Session) { s.Profile.Call = 100 * time.Millisecond })
	p.send(`[{"id":1,"method":"tools/call","params":{"name":"t"}},{"id":2,"method":"tools/list"}]`)
	if got := failureOf(t, strings.Trim(p.line(), "[]\n")).String(); got != "1 -31006 call t" {
		t.Errorf("got %s", got)
	}
	if got := p.line(); got != `[{"jsonrpc":"2.0","id":2,"result":{}}]`+"\n" {
		t.Errorf("got %q", got)
	}
	p.in.Close()
	if rest := p.rest(); rest != "" {
		t.Errorf("then %q", rest)
	}
	p.ended()
}

// TestCallTimeout: the call is answered, the server is told, its late answer is dropped,
// and the session goes on.
func TestCallTimeout(t *testing.T) {
	t.Parallel()
	p := begin(t, &fake{server: "slow"}, func(s *Session) { s.Profile.Call = 100 * time.Millisecond })
	p.send(initialize)
	p.line()
	p.send(callLine)
	if got := failureOf(t, p.line()).String(); got != "1 -31006 call t" {
		t.Errorf("got %s", got)
	}
	time.Sleep(300 * time.Millisecond) // the cancellation follows the answer
	p.send(`{"id":2,"method":"ping"}`)
	if got := p.line(); got != answerTo("2", `{"id":2,"method":"ping"}`) {
		t.Errorf("got %q", got)
	}
	p.in.Close()
	if rest := p.rest(); rest != "" {
		t.Errorf("then %q", rest)
	}
	if _, stderr := p.ended(); !strings.Contains(stderr, `cancelled {"requestId":1,`) {
		t.Errorf("stderr %q", stderr)
	}
}
