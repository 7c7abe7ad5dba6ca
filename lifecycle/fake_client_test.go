//go:build unix

package lifecycle

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// said is a message that the client under test has been sent.
type said struct {
	line          string
	ID            json.RawMessage
	Method        string
	Params        json.RawMessage
	Result, Error json.RawMessage
}

// take returns the first message that matches. Others wait for their turn.
func (p *play) take(what string, match func(said) bool) said {
	p.t.Helper()
	for i := 0; ; i++ {
		if i == len(p.stash) {
			l := p.line()
			var s said
			if err := json.Unmarshal([]byte(l), &s); err != nil {
				p.t.Fatalf("waiting for %s: %q: %v", what, l, err)
			}
			s.line = l
			p.stash = append(p.stash, s)
		}
		if s := p.stash[i]; match(s) {
			p.stash = append(p.stash[:i:i], p.stash[i+1:]...)
			return s
		}
	}
}

// answer returns the answer to a request.
func (p *play) answer(id string) said {
	p.t.Helper()
	return p.take("the answer to "+id, func(s said) bool { return s.Method == "" && string(s.ID) == id })
}

// told returns the next message with a method.
func (p *play) told(method string) said {
	p.t.Helper()
	return p.take(method, func(s said) bool { return s.Method == method })
}

// close ends the client's side and returns the messages that the test did not take.
func (p *play) close() (rest, stderr string, status int) {
	p.t.Helper()
	p.in.Close()
	for _, s := range p.stash {
		rest += s.line
	}
	rest += p.rest()
	status, stderr = p.ended()
	return rest, stderr, status
}

// nothing ends the session, in which nothing more was said to the client.
func (p *play) nothing() (stderr string) {
	p.t.Helper()
	rest, stderr, status := p.close()
	if rest != "" || status != 0 {
		p.t.Errorf("status %d, and the client was also sent %q", status, rest)
	}
	return stderr
}

// saw returns the log of the n-th process of a tool, from 0.
func (f *fleet) saw(tool string, n int) string {
	b, _ := os.ReadFile(fmt.Sprintf("%s/%s.%d", f.dir, tool, n))
	return string(b)
}

// ended waits for the end of a process.
func (p *fakeProcess) ended(t testing.TB) {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(testkit.Patience):
		t.Fatal("the process does not end")
	}
}

var eventually = testkit.Eventually

// has fails the test for each part that a text lacks.
func has(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in %q", part, text)
		}
	}
}

// modern is a request of the modern era.
func modern(id, method, params string) string {
	return modernBy("c", id, method, params)
}

// modernBy is one of a certain client.
func modernBy(client, id, method, params string) string {
	if params != "" {
		params = "," + params
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":%q}}%s}}`, id, method, client, params)
}

// legacy is one of the legacy era.
func legacy(id, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params)
}

// helloFrom is an initialize with other capabilities.
func helloFrom(id, capabilities string) string {
	return strings.Replace(strings.Replace(clientHello, `"id":0`, `"id":`+id, 1), `"capabilities":{}`, `"capabilities":`+capabilities, 1)
}
