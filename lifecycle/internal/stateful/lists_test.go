//go:build unix

package stateful

import (
	"fmt"
	"testing"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// TestPinsOpenLists tests that openLists forgets old requests that the server never answers.
func TestPinsOpenLists(t *testing.T) {
	t.Parallel()
	var o openLists
	for i := range 3*maxOpenLists + 1 {
		f := mcpproxy.Parse([]byte(sessiontest.PageOf(fmt.Sprint(i), "x", "{}")))
		o.note(f, &f.Messages[0])
		if len(o.open) > maxOpenLists {
			t.Fatalf("%d are kept", len(o.open))
		}
	}
	if r := o.take([]byte(fmt.Sprint(3*maxOpenLists)), "tools/list"); r.Cursor != "x" {
		t.Errorf("%+v", r)
	}
	if r := o.take([]byte("0"), "tools/list"); r.Cursor != session.UnknownCursor {
		t.Errorf("%+v", r)
	}
}
