//go:build unix

package lifecycle

import (
	"strings"
	"testing"
)

// TestNothingToSay: of a failure that is the server's own nothing is said: its answer
// keeps its bytes, and stderr stays empty. Once the client has answered for its roots,
// what lies outside of them is told as that.
func TestNothingToSay(t *testing.T) {
	p := begin(t, &fake{server: "guarded"}, nil)
	if got := p.line(); !strings.Contains(got, "roots/list") {
		t.Fatalf("got %q", got)
	}
	const own = `{"jsonrpc": "2.0", "id":1, "result":{"isError":true,"content":[{"type":"text","text":"Access denied - path outside allowed directories: /home/u/.ssh/id_rsa not in /roots/a"}]}}` + "\r\n"
	p.send(callLine)
	if got := p.line(); got != own {
		t.Errorf("before there are roots: %q", got)
	}
	p.send(`{"jsonrpc":"2.0","id":0,"result":{"roots":[{"uri":"file:///roots/a"},{"uri":"https://example.org/"}]}}`)
	var got string
	for range 100 { // the answer is on its way
		p.send(callLine)
		if got = p.line(); got != own {
			break
		}
	}
	if !strings.HasPrefix(got, strings.TrimSuffix(own, "]}}\r\n")) || !strings.Contains(got, `the client has given it \"/roots/a\" as its roots`) || strings.Contains(got, "[[servers") {
		t.Errorf("with roots: %q", got)
	}
	p.in.Close()
	p.rest()
	_, stderr := p.ended()
	if strings.Count(stderr, "mcp-jail: the tool") != 1 {
		t.Errorf("stderr %q", stderr)
	}
	if n := len(p.record.Diagnoses); n < 2 || !p.record.Diagnoses[0].Silent() {
		t.Errorf("record %+v", p.record.Diagnoses)
	}
}
