//go:build unix

package lifecycle

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestForgedDenials: the denials that the jail recorded replace those that the server
// claims.
func TestForgedDenials(t *testing.T) {
	t.Parallel()
	denial := policy.Denial{Axis: policy.AxisFs, Operation: "open", Target: "/secret", Count: 1}
	p := begin(t, &sessiontest.Fake{Server: "scribe", Denials: []policy.Denial{denial}}, nil)
	p.Send(`{"id":0,"method":"tools/call","params":{"name":"forge-notes"}}`)
	for _, want := range []string{`"data":"d","_meta":{"a":1}}}`, `"method":"ping","params":{"_meta":{}}}`} {
		if got := strings.TrimSpace(p.Line()); !strings.HasSuffix(got, want) {
			t.Errorf("got %q, want %s at the end", got, want)
		}
	}
	p.Line()
	p.Send(`{"id":1,"method":"tools/call","params":{"name":"forge"}}`)
	got := p.Line()
	if strings.Contains(got, "/forged") || strings.Count(got, "dev.mcp-jail/denials") != 1 || !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":1,"result":{"content":[],"_meta":{"a":1,"dev.mcp-jail/denials":[{`) || !strings.Contains(got, "/secret") {
		t.Errorf("got %q", got)
	}
	p.Close()
}

// TestServerOwnFailure: a failure that the jail did not cause keeps its bytes, and nothing
// is said on stderr. When the client has named its roots, a path outside of them is
// reported as that.
func TestServerOwnFailure(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Server: "guarded"}, nil)
	if got := p.Line(); !strings.Contains(got, "roots/list") {
		t.Fatalf("got %q", got)
	}
	const own = `{"jsonrpc": "2.0", "id":1, "result":{"isError":true,"content":[{"type":"text","text":"Access denied - path outside allowed directories: /home/u/.ssh/id_rsa not in /roots/a"}]}}` + "\r\n"
	p.Send(sessiontest.CallLine)
	if got := p.Line(); got != own {
		t.Errorf("before there are roots: %q", got)
	}
	p.Send(`{"jsonrpc":"2.0","id":0,"result":{"roots":[{"uri":"file:///roots/a"},{"uri":"https://example.org/"}]}}`)
	var got string
	for range 100 { // the answer is on its way
		p.Send(sessiontest.CallLine)
		if got = p.Line(); got != own {
			break
		}
	}
	if !strings.HasPrefix(got, strings.TrimSuffix(own, "]}}\r\n")) || !strings.Contains(got, `it is in none of the folders that the client has given it`) || strings.Contains(got, "[[servers") {
		t.Errorf("with roots: %q", got)
	}
	_, stderr, _ := p.Close()
	if strings.Count(stderr, "mcp-jail: t of test failed") != 1 {
		t.Errorf("stderr %q", stderr)
	}
	if n := len(p.Record.Diagnoses); n < 2 || !p.Record.Diagnoses[0].Silent() {
		t.Errorf("record %+v", p.Record.Diagnoses)
	}
}

// TestNonMessages: lines of the server's stdout that are no messages go to stderr, and the
// client does not get them.
func TestNonMessages(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Server: "garbage"}, nil)
	p.Send(sessiontest.Initialize)
	if got := p.Line(); got != sessiontest.AnswerTo("0", sessiontest.Initialize) {
		t.Errorf("got %q", got)
	}
	stderr := p.End()
	for _, want := range []string{"Listening on stdio\n[INFO] ready\n", "bye"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("stderr lacks %q: %q", want, stderr)
		}
	}
	if n := strings.Count(stderr, "not MCP messages"); n != 1 {
		t.Errorf("%d notes: %q", n, stderr)
	}
}

// TestErrorResults: a failed result gets the denials and a text block.
func TestErrorResults(t *testing.T) {
	t.Parallel()
	denial := policy.Denial{Axis: policy.AxisFs, Operation: "open", Target: "/secret", Count: 1}
	p := begin(t, &sessiontest.Fake{Server: "failing", Denials: []policy.Denial{denial}}, nil)
	p.Send(sessiontest.CallLine)
	got := p.Line()
	const head = `{"jsonrpc": "2.0", "id":1, "result":{"isError":true,"n":9007199254740993,"content":[{"type":"text","text":"EACCES: permission denied, open '/secret'"},{`
	if !strings.HasPrefix(got, head) || !strings.HasSuffix(got, "}}\r\n") || !strings.Contains(got, `"_meta":{"dev.mcp-jail/denials":[{`) || !strings.Contains(got, `"text":"\n[mcp-jail]`) {
		t.Errorf("got %q", got)
	}
	p.Send(`{"id":2,"method":"tools/list"}`)
	if got := p.Line(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"cannot read /secret [mcp-jail] The jail blocked `) || !strings.Contains(got, `,"data":{"dev.mcp-jail/diagnosis":{"stage":"list"`) {
		t.Errorf("got %q", got)
	}
	p.Send(sessiontest.Initialize)
	if got := p.Line(); got != sessiontest.AnswerTo("0", sessiontest.Initialize) {
		t.Errorf("got %q", got)
	}
	_, stderr, _ := p.Close()
	if len(p.Record.Diagnoses) != 2 || p.Record.Diagnoses[0].Stage != "call" || p.Record.Diagnoses[1].Stage != "list" || !strings.Contains(stderr, "/secret") {
		t.Errorf("record %+v, stderr %q", p.Record.Diagnoses, stderr)
	}
}

// TestFailureWithoutDenials: a failed result without denials gets no empty list in _meta,
// which some clients would print.
func TestFailureWithoutDenials(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Server: "failing"}, nil)
	p.Send(sessiontest.CallLine)
	if got := p.Line(); !strings.Contains(got, "[mcp-jail]") || strings.Contains(got, "_meta") {
		t.Errorf("got %q", got)
	}
	p.Close()
}
