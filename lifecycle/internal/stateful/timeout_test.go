//go:build unix

package stateful

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
)

// TestTimeoutsOfHungServer: a server that does not read the cancellation of one call does
// not delay the timeout of the next.
func TestTimeoutsOfHungServer(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Server: "hung"}, func(s *session.Session) {
		sessiontest.Ruthless(s)
		s.Profile.Call = 300 * time.Millisecond
	})
	p.Send(sessiontest.Initialize)
	p.Line()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		io.WriteString(p.In, `{"id":1,"method":"tools/call","params":{"name":"a"}}`+"\n")
		time.Sleep(150 * time.Millisecond)
		io.WriteString(p.In, `{"id":2,"method":"tools/call","params":{"name":"b","x":"`+strings.Repeat("y", 3<<20)+`"}}`+"\n")
	}()
	for _, want := range []string{"1 -31006 call a", "2 -31006 call b"} {
		sessiontest.IsFailure(t, p.Line(), want)
	}
	p.Cancel()
	<-sent
	p.Ended()
}

// TestCancelledCall: a request that the client has cancelled gets no error, neither for a
// timeout nor for the server's end.
func TestCancelledCall(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Server: "scribe"}, func(s *session.Session) { s.Profile.Call = 300 * time.Millisecond })
	p.Send(`{"id":1,"method":"tools/call","params":{"name":"hang"}}`, `{"method":"notifications/cancelled","params":{"requestId":1}}`)
	time.Sleep(600 * time.Millisecond)
	p.Send(`{"id":2,"method":"tools/list"}`)
	sessiontest.Has(t, p.Line(), `"id":2,"result"`)
	if stderr := p.End(); ownWords(stderr) != "" {
		t.Errorf("stderr %q", stderr)
	}
}

// TestTimedOutInBatch: the server's late answer to a batch passes without the call that
// was answered by us.
func TestTimedOutInBatch(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Server: "batch-late"}, func(s *session.Session) { s.Profile.Call = 100 * time.Millisecond })
	p.Send(`[{"id":1,"method":"tools/call","params":{"name":"t"}},{"id":2,"method":"tools/list"}]`)
	sessiontest.IsFailure(t, strings.Trim(p.Line(), "[]\n"), "1 -31006 call t")
	if got := p.Line(); got != `[{"jsonrpc":"2.0","id":2,"result":{}}]`+"\n" {
		t.Errorf("got %q", got)
	}
	p.End()
}

// TestCallTimeout: stderr says that the call is waited for. It is answered, the server is told, its late answer is dropped,
// and the session goes on.
func TestCallTimeout(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Server: "slow"}, func(s *session.Session) { s.Profile.Call = 100 * time.Millisecond })
	p.Send(sessiontest.Initialize)
	p.Line()
	p.Send(sessiontest.CallLine)
	sessiontest.IsFailure(t, p.Line(), "1 -31006 call t")
	time.Sleep(300 * time.Millisecond) // the cancellation follows the answer
	p.Send(`{"id":2,"method":"ping"}`)
	if got := p.Line(); got != sessiontest.AnswerTo("2", `{"id":2,"method":"ping"}`) {
		t.Errorf("got %q", got)
	}
	if stderr := p.End(); !strings.Contains(stderr, `cancelled {"requestId":1,`) || strings.Count(stderr, `waiting for the answer of server "test" to a call of tool "t"`) != 1 {
		t.Errorf("stderr %q", stderr)
	}
}
