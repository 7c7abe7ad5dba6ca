//go:build unix

package sessiontest

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// Said is a message that the client under test has been sent.
type Said struct {
	Line          string
	ID            json.RawMessage
	Method        string
	Params        json.RawMessage
	Result, Error json.RawMessage
}

// Take returns the first message that matches. Others wait for their turn.
func (p *Play) Take(what string, match func(Said) bool) Said {
	p.T.Helper()
	for i := 0; ; i++ {
		if i == len(p.Stash) {
			l := p.Line()
			var s Said
			if err := json.Unmarshal([]byte(l), &s); err != nil {
				p.T.Fatalf("waiting for %s: %q: %v", what, l, err)
			}
			s.Line = l
			p.Stash = append(p.Stash, s)
		}
		if s := p.Stash[i]; match(s) {
			p.Stash = append(p.Stash[:i:i], p.Stash[i+1:]...)
			return s
		}
	}
}

// Answer returns the answer to a request.
func (p *Play) Answer(id string) Said {
	p.T.Helper()
	return p.Take("the answer to "+id, func(s Said) bool { return s.Method == "" && string(s.ID) == id })
}

// Ask sends a request and returns the answer to it.
func (p *Play) Ask(request string) Said {
	p.T.Helper()
	var r struct{ ID json.RawMessage }
	testkit.Must(p.T, json.Unmarshal([]byte(request), &r))
	p.Send(request)
	return p.Answer(string(r.ID))
}

// Told returns the next message with a method.
func (p *Play) Told(method string) Said {
	p.T.Helper()
	return p.Take(method, func(s Said) bool { return s.Method == method })
}

// Close ends the client's side and returns the messages that the test did not take.
func (p *Play) Close() (rest, stderr string, status int) {
	p.T.Helper()
	p.In.Close()
	for _, s := range p.Stash {
		rest += s.Line
	}
	rest += p.Rest()
	status, stderr = p.Ended()
	return rest, stderr, status
}

// Nothing ends the session, in which nothing more was said to the client.
func (p *Play) Nothing() (stderr string) {
	p.T.Helper()
	rest, stderr, status := p.Close()
	if rest != "" || status != 0 {
		p.T.Errorf("status %d, and the client was also sent %q", status, rest)
	}
	return stderr
}

// Saw returns the log of the n-th process of a tool, from 0.
func (f *Fleet) Saw(tool string, n int) string {
	b, _ := os.ReadFile(fmt.Sprintf("%s/%s.%d", f.dir, tool, n))
	return string(b)
}

// Ended waits for the end of a process.
func (p *fakeProcess) Ended(t testing.TB) {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(testkit.Patience):
		t.Fatal("the process does not end")
	}
}

var Eventually = testkit.Eventually

// Has fails the test for each part that a text lacks.
func Has(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in %q", part, text)
		}
	}
}

// Modern is a request of the modern era.
func Modern(id, method, params string) string {
	return ModernBy("c", id, method, params)
}

// ModernBy is one of a certain client.
func ModernBy(client, id, method, params string) string {
	if params != "" {
		params = "," + params
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":%q}}%s}}`, id, method, client, params)
}

// Legacy is one of the legacy era.
func Legacy(id, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params)
}

// HelloFrom is an initialize with other capabilities.
func HelloFrom(id, capabilities string) string {
	return strings.Replace(strings.Replace(ClientHello, `"id":0`, `"id":`+id, 1), `"capabilities":{}`, `"capabilities":`+capabilities, 1)
}

// End ends a session in which nothing more was said to the client.
func (p *Play) End() (stderr string) {
	p.T.Helper()
	rest, stderr, _ := p.Close()
	if rest != "" {
		p.T.Errorf("the client was also sent %q", rest)
	}
	return stderr
}

// WaitFor is closed when the process has ended.
func WaitFor(p *Play) <-chan struct{} {
	for {
		p.Fake.Mu.Lock()
		proc := p.Fake.Proc
		p.Fake.Mu.Unlock()
		if proc != nil {
			return proc.done
		}
		time.Sleep(time.Millisecond)
	}
}

const (
	Initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`
	CallLine   = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`
)

// AnswerTo returns the answer of a server that uses serve.
func AnswerTo(id, line string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"echo":%q}}`+"\n", id, line)
}

// ReplyTo returns the client's answer to a request of a process.
func ReplyTo(ask Said, result string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, ask.ID, result)
}

// failure is the part of an error frame of ours that tests look at.
type failure struct {
	ID    json.RawMessage
	Error struct {
		Code    int
		Message string
		Data    map[string]struct{ Stage, Tool string }
	}
}

func FailureOf(t testing.TB, line string) failure {
	t.Helper()
	var f failure
	if err := json.Unmarshal([]byte(line), &f); err != nil {
		t.Errorf("%q: %v", line, err)
	}
	if f.Error.Data["dev.mcp-jail/failure"].Stage == "" {
		t.Errorf("%q is no error of ours", line)
	}
	return f
}

func (f failure) String() string {
	d := f.Error.Data["dev.mcp-jail/failure"]
	return strings.TrimSpace(fmt.Sprintf("%s %d %s %s", f.ID, f.Error.Code, d.Stage, d.Tool))
}

// IsFailure fails the test unless a line is an error of ours with an id, a code, a stage and a tool, of
// which want has all, or the last ones.
func IsFailure(t testing.TB, line, want string) {
	t.Helper()
	if got := FailureOf(t, line).String(); got != want && !strings.HasSuffix(got, " "+want) {
		t.Errorf("got %s, want %s", got, want)
	}
}
