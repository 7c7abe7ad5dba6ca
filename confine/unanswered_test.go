package confine

import (
	"fmt"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestUnansweredBounded checks that a server which connects to many addresses of its loopback does not
// fill mcp-jail, and that the latest are known.
func TestUnansweredBounded(t *testing.T) {
	var all []policy.Unanswered
	now := time.Now()
	event := func(i int) spec.Event {
		return spec.Event{Kind: spec.EventUnanswered, Target: fmt.Sprintf("127.0.%d.%d", i/250, 2+i%250), Num: 7000 + i%7}
	}
	for i := range 3 * maxUnanswered {
		all = noteUnanswered(all, event(i), now.Add(time.Duration(i)))
		all = noteUnanswered(all, event(0), now.Add(time.Duration(i))) // again and again: it stays
	}
	known := map[string]bool{}
	for _, u := range all {
		known[u.Host] = true
	}
	if last := event(3*maxUnanswered - 1).Target; len(all) != maxUnanswered || !known[last] || !known[event(0).Target] {
		t.Errorf("%d ports, want %d, with the latest: %v", len(all), maxUnanswered, known)
	}
}
