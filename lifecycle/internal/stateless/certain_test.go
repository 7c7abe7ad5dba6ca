//go:build unix

package stateless

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestCertainReads: after a failure whose cause is only possible, the next call of the tool gets a
// process whose jail records refused reads, and no warm worker, until such a call goes well. No
// other process gets one.
func TestCertainReads(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	p := beginStateless(t, f, warm(1, "vague"))
	p.Opening()
	p.warmed(f, "vague", 0)
	for i, c := range []struct {
		tool, arguments string
		certain         bool // the process of this call
	}{
		{"vague", `"well"`, false}, {"vague", "{}", false}, {"echo", "{}", false}, {"vague", "{}", true}, {"fail", "{}", false}, {"fail", "{}", false},
		{"vague", `"well"`, true}, {"vague", `"well"`, false}, {"vague", "{}", false},
	} {
		if !c.certain && c.tool == "vague" { // it takes the warm worker
			p.pooled("a warm worker", func(pool *pool) bool {
				return len(pool.warmReady()) == 1
			})
		}
		before := count(f.Certain(c.tool))
		id := fmt.Sprint(i)
		p.Ask(sessiontest.CallOf(id, c.tool, c.arguments))
		if got := count(f.Certain(c.tool)) > before; got != c.certain {
			t.Errorf("call %d, of %s: certain reads %v, want %v (%v)", i, c.tool, got, c.certain, f.Certain(c.tool))
		}
	}
	if n := count(f.Certain("")); n > 0 {
		t.Errorf("%d discovery workers have certain reads", n)
	}
	p.Nothing()
}

func count(all []bool) (n int) {
	for _, set := range all {
		if set {
			n++
		}
	}
	return n
}

// TestCertainReadsThatGoWell: a call that goes well tells nothing of the reads that were refused.
// One that fails names them.
func TestCertainReadsThatGoWell(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	p := beginStateless(t, f, nil)
	p.Opening()
	p.Ask(sessiontest.CallOf("1", "vague", "{}"))
	f.Mu.Lock()
	f.Denials = map[string][]policy.Denial{"vague": {{Axis: policy.AxisFs, Operation: "read", Target: "/srv/call", Count: 1, Time: time.Now().Add(time.Minute)}}}
	f.Mu.Unlock()
	p.Send(sessiontest.CallOf("2", "vague", `"well"`))
	if l := p.Answer("2").Line; strings.Contains(l, "denials") || strings.Contains(l, "/srv") {
		t.Errorf("it went well: %s", l)
	}
	p.Send(sessiontest.CallOf("3", "vague", `"well"`)) // in an ordinary jail, which does not record that of itself
	sessiontest.Has(t, p.Answer("3").Line, "denials", "/srv/call")
	sessiontest.Has(t, p.Ask(sessiontest.CallOf("4", "vague", "{}")).Line, "may not read /srv/call")
	p.Nothing()
}
