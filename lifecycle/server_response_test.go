//go:build unix

package lifecycle

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
)

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
