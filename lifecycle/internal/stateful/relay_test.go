//go:build unix

package stateful

import (
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
)

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
