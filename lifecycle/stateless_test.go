//go:build unix

package lifecycle

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func newShop() *fleet { return &fleet{servers: map[string]string{"": "shop"}} }

// Each call has a process that has never seen another, and the answer keeps the
// client's id and bytes.
func TestFreshProcessForEachCall(t *testing.T) {
	f := newShop()
	p := beginStateless(t, f, nil)
	p.greet()
	pids := map[string]bool{}
	for i := range 5 {
		id := fmt.Sprint(9007199254740993 + i)
		p.send(callOf(id, "echo", `{"n":9007199254740993}`))
		l := p.line()
		var m struct {
			ID     json.RawMessage
			Result struct{ Content []struct{ Text string } }
		}
		if err := json.Unmarshal([]byte(l), &m); err != nil || string(m.ID) != id || len(m.Result.Content) != 1 {
			t.Fatalf("%q: %v", l, err)
		}
		text := m.Result.Content[0].Text
		if !strings.Contains(text, "calls=1") || !strings.Contains(text, "9007199254740993") || !strings.Contains(text, "tool=echo") {
			t.Errorf("the process has said %q", text)
		}
		pids[text] = true
	}
	if len(pids) != 5 || f.started("echo") != 5 {
		t.Errorf("%d processes for 5 calls, %d started", len(pids), f.started("echo"))
	}
	p.in.Close()
	if status, stderr := p.ended(); status != 0 || stderr != "" {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
}
