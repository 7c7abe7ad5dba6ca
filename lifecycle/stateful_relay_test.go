//go:build unix

package lifecycle

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

const (
	initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`
	callLine   = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`
)

// answerTo returns the answer of a server that uses serve.
func answerTo(id, line string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"echo":%q}}`+"\n", id, line)
}

// TestRelay: messages pass unchanged in both directions.
func TestRelay(t *testing.T) {
	t.Parallel()
	p := begin(t, &fake{server: "polite"}, nil)
	odd := `{"id":9007199254740993 , "method":"x","params":{"\u006e":1,"n":2}}`
	for _, m := range []struct{ id, line string }{{"0", initialize}, {`"é"`, `{"id":"é","method":"tools/call","unknown":1.0}`}, {"9007199254740993", odd}} {
		p.send(m.line)
		if got, want := p.line(), answerTo(m.id, m.line); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	p.in.Close()
	if rest := p.rest(); rest != "" {
		t.Errorf("then %q", rest)
	}
	status, stderr := p.ended()
	if status != 7 || p.err != nil || stderr != "" {
		t.Errorf("status %d, error %v, stderr %q", status, p.err, stderr)
	}
	if p.record.Server != "test" || len(p.record.Diagnoses) != 0 {
		t.Errorf("record %+v", p.record)
	}
}

// TestPipelinedThenEOF: requests before the end of stdin are answered.
func TestPipelinedThenEOF(t *testing.T) {
	t.Parallel()
	p := begin(t, &fake{server: "polite"}, nil)
	const n = 3000
	go func() {
		for i := range n {
			fmt.Fprintf(p.in, `{"id":%d,"method":"m"}`+"\n", i)
		}
		p.in.Close()
	}()
	for i := range n {
		if got, want := p.line(), answerTo(fmt.Sprint(i), fmt.Sprintf(`{"id":%d,"method":"m"}`, i)); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	if status, _ := p.ended(); status != 7 {
		t.Errorf("status %d", status)
	}
}

// TestNoNewlineAtTheEnd: a last message without a newline passes as it is.
func TestNoNewlineAtTheEnd(t *testing.T) {
	t.Parallel()
	p := begin(t, &fake{server: "no-newline"}, nil)
	p.send(initialize)
	if got := p.rest(); got != `{"jsonrpc":"2.0","id":0,"result":{}}` {
		t.Errorf("got %q", got)
	}
	if status, _ := p.ended(); status != 0 {
		t.Errorf("status %d", status)
	}
}

// TestBothDirectionsHaveTheirOwnIDs: the server's request 0 is not the client's request 0.
func TestBothDirectionsHaveTheirOwnIDs(t *testing.T) {
	t.Parallel()
	p := begin(t, &fake{server: "asks"}, nil)
	if got := p.line(); !strings.Contains(got, "roots/list") {
		t.Errorf("got %q", got)
	}
	p.send(initialize)
	if got := p.line(); got != answerTo("0", initialize) {
		t.Errorf("got %q", got)
	}
	p.send(`{"jsonrpc":"2.0","id":0,"result":{"roots":[]}}`)
	p.in.Close()
	p.rest()
	p.ended()
}

// TestStderrIsNeverBlocked: the client does not read stderr, and the server goes on.
func TestStderrIsNeverBlocked(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p := begin(t, &fake{server: "flood"}, func(s *Session) { s.Err = w })
	p.send(initialize)
	if got := p.line(); got != answerTo("0", initialize) {
		t.Errorf("got %q", got)
	}
	p.in.Close()
	p.rest()
	p.ended()
	w.Close()
	if b, _ := io.ReadAll(r); len(b) > 1<<20 || len(b) == 0 {
		t.Errorf("%d bytes were forwarded", len(b))
	}
}

// BenchmarkCall is one tools/call through a session and a real process, and
// without one: the difference is what a call costs.
func BenchmarkCall(b *testing.B) {
	b.Run("proxied", func(b *testing.B) {
		p := begin(b, &fake{server: "polite"}, nil)
		benchmark(b, p)
		p.in.Close()
		p.rest()
		p.ended()
	})
	b.Run("direct", func(b *testing.B) {
		p := &play{t: b}
		pipes, err := newPipes()
		if err != nil {
			b.Fatal(err)
		}
		proc, err := (&fake{server: "polite"}).Start(b.Context(), nil, pipes.serverEnds)
		if err != nil {
			b.Fatal(err)
		}
		pipes.closeServerEnds()
		p.use(pipes.stdin, pipes.stdout.file)
		benchmark(b, p)
		pipes.stdin.Close()
		proc.Wait()
		pipes.closeOwnEnds()
	})
}

func benchmark(b *testing.B, p *play) {
	b.ReportAllocs()
	for b.Loop() {
		p.send(callLine)
		p.line()
	}
}
