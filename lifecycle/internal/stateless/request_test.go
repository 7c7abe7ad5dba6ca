//go:build unix

package stateless

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
)

// TestIDs: each answer has the id of its call, byte for byte, for any JSON value.
func TestIDs(t *testing.T) {
	t.Parallel()
	f, p := greeted(t, func(_ *session.Session, o *Options) { o.MaxCalls = 16 })
	ids := []string{"1", "1.50", `"1"`, `"a\"b"`, "9007199254740993", "9007199254740992", `"\u00e9x"`, "-7", `""`, `"mcp-jail/1"`}
	for _, id := range ids {
		p.Send(sessiontest.CallOf(id, "ask", "{}"))
	}
	asked := map[string]string{} // by our id: which process cannot be told from it
	for range ids {
		asked[string(p.Told("sampling/createMessage").ID)] = ""
	}
	if len(asked) != len(ids) {
		t.Fatalf("%d processes that all use id 0 ask as %v", len(ids), asked)
	}
	for id := range asked {
		p.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"for":%s}}`, id, id))
	}
	results := map[string]bool{}
	for _, id := range ids {
		l := p.Answer(id).Line
		sessiontest.Has(t, l, `id=0 result={\"for\":`, "calls=1")
		_, result, _ := strings.Cut(l, "result={")
		results[result] = true
	}
	if len(results) != len(ids) {
		t.Errorf("two calls were given one reply: %v", results)
	}
	if stderr := p.Nothing(); stderr != "" {
		t.Errorf("stderr %q", stderr)
	}
	// The handshakes had ids of ours, and no two the same.
	seen := map[string]bool{}
	for n := range len(ids) {
		hello, _, _ := strings.Cut(f.Saw("ask", n), "\n")
		sessiontest.Has(t, hello, `"method":"initialize"`, `"id":"mcp-jail/`)
		if seen[hello] {
			t.Errorf("twice: %q", hello)
		}
		seen[hello] = true
	}
}

// TestDuplicateID: a second request with the id of an open one gets no answer, since the
// client could not tell it from the first one's. Its tool is not run.
func TestDuplicateID(t *testing.T) {
	t.Parallel()
	f, p := greeted(t, nil)
	p.Send(sessiontest.CallOf(`"é"`, "ask", "{}"))
	ask := p.Told("sampling/createMessage")
	p.Send(sessiontest.CallOf(`"\u00e9"`, "crash", "{}"), `{"jsonrpc":"2.0","id":"é","method":"tools/call","params":{"name":"x","name":"y"}}`)
	p.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, ask.ID))
	sessiontest.Has(t, p.Answer(`"é"`).Line, "id=0 result={}")
	stderr := p.Nothing()
	sessiontest.Has(t, stderr, "for a second request before the first was answered", "two JSON readers could read the message differently", "; it was dropped")
	if f.Started("crash") != 0 {
		t.Error("the second was run")
	}
}
