//go:build unix

package stateful

import (
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
)

func silentSoon(s *session.Session) { session.TimesOf(s).Silence = 100 * time.Millisecond }

const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

// TestNotOnOneLine: an answer that is not one line by itself becomes an error that says why, while
// the server runs on.
func TestNotOnOneLine(t *testing.T) {
	t.Parallel()
	for server, want := range map[string]string{
		"indented": "writes one message over several lines; MCP's stdio needs one line each",
		"deep":     "an answer was not passed on: its values are nested more than 10000 deep",
		"framed":   "frames its messages with Content-Length, as LSP does",
		"banner":   `its answer is after other text on one line of stdout, "Welcome!"`,
	} {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			p := begin(t, &sessiontest.Fake{Server: server}, silentSoon)
			p.Send(sessiontest.Initialize)
			line := p.Line()
			if got := sessiontest.FailureOf(t, line).String(); got != "0 -32603 call" || !strings.Contains(line, strings.ReplaceAll(want, `"`, `\"`)) {
				t.Errorf("got %q", line)
			}
			if stderr := p.End(); !strings.Contains(stderr, want) {
				t.Errorf("stderr %q", stderr)
			}
		})
	}
}

// TestLoggedAnswer: a log that has an answer in it replaces no answer. If none follows, the error
// says where the answer was.
func TestLoggedAnswer(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Server: "banner"}, silentSoon)
	p.Send(sessiontest.Initialize)
	sessiontest.FailureOf(t, p.Line())
	p.Send(list)
	if got := p.Line(); got != `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n" {
		t.Errorf("got %q", got)
	}
	p.Send(sessiontest.CallOf("2", "a", "{}"))
	line := p.Line()
	if got := sessiontest.FailureOf(t, line).String(); got != "2 -32603 call a" || !strings.Contains(line, "DEBUG sending") {
		t.Errorf("got %q", line)
	}
	if rest := p.Rest(); rest != "" {
		t.Errorf("then %q", rest)
	}
	p.Ended()
}

// TestTextIDs: an answer with the id in another type is passed on. At the end the open request gets
// an error that says so, also without any other answer before.
func TestTextIDs(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Server: "text-ids"}, silentSoon)
	p.Send(list)
	if got := p.Line(); got != `{"jsonrpc":"2.0","id":"1","result":{}}`+"\n" {
		t.Errorf("got %q", got)
	}
	p.In.Close()
	line := p.Rest()
	if got := sessiontest.FailureOf(t, line).String(); got != "1 -32603 call" || !strings.Contains(line, `it answered with the id \"1\", and the request has the id 1: in JSON-RPC a number and a string are two ids`) {
		t.Errorf("got %q", line)
	}
	p.Ended()
}
