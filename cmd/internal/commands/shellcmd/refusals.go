package shellcmd

import (
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// refusals writes down what is refused in a shell while it runs.
type refusals struct {
	of    func() diagnostics.Evidence
	write func([]diagnostics.Refusal)

	counts map[string]*count
}

// count is how often something was refused.
type count struct{ told, next int }

// look writes down what is new. What is repeated is written each time that its number has doubled, and
// at the last look.
func (r *refusals) look(last bool) {
	var all []diagnostics.Refusal
	ev := r.of()
	for _, d := range ev.Denials {
		if n := r.due(d, last); n > 0 && !d.Background {
			found := diagnostics.RefusedSilently(ev, d)
			found.What = "a shell in the jail of server " + show.Quote(ev.Server) + " was refused something"
			all = append(all, diagnostics.Refusal{Time: time.Now(), Count: n, Guest: true, Diagnosis: found})
		}
	}
	if all != nil {
		r.write(all)
	}
}

// due returns how many refusals of a denial are to be written down now.
func (r *refusals) due(d policy.Denial, last bool) int {
	if r.counts == nil {
		r.counts = map[string]*count{}
	}
	key := strings.Join([]string{string(d.Axis), d.Operation, d.Target, string(d.Reason), strings.Join(d.Arguments, "\x01")}, "\x00")
	c := r.counts[key]
	if c == nil {
		c = &count{next: 1}
		r.counts[key] = c
	}
	total := max(d.Count, 1)
	n := total - c.told
	if n <= 0 || total < c.next && !last {
		return 0
	}
	c.told, c.next = total, 2*total
	return n
}
