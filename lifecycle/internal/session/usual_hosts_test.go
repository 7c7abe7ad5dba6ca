package session

import (
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestUsualHosts: the three ways to learn that a host is a usual one.
func TestUsualHosts(t *testing.T) {
	t.Parallel()
	at := time.Now()
	denials := func(tool string, hosts ...string) (out []policy.Denial) {
		for _, h := range hosts {
			out = append(out, policy.Denial{Axis: policy.AxisNet, Target: h, Tool: tool, Time: at})
		}
		return out
	}
	usual := func(h *usualHosts, first *time.Time, d []policy.Denial) (hosts string) {
		h.classify(d, first)
		for _, d := range d {
			if d.Background {
				hosts += d.Target + " "
			}
		}
		return hosts
	}
	asked := 0
	h := &usualHosts{earlier: func() (diagnostics.Record, bool) {
		asked++
		r := diagnostics.Record{Denials: denials("", "before", "once")}
		r.Denials[0].Background = true
		return r, true
	}}
	if got := usual(h, nil, []policy.Denial{{Axis: policy.AxisFs, Target: "before"}}); got != "" || asked != 0 {
		t.Errorf("a path was held to be a host: %q, %d", got, asked)
	}
	if got := usual(h, nil, denials("a", "before", "once", "a")); got != "before " {
		t.Errorf("of the session before: %q", got)
	}
	if got := usual(h, nil, denials("b", "once", "b")); got != "once " {
		t.Errorf("of two tools: %q", got)
	}
	if got := usual(h, nil, denials("a", "a")); got != "" {
		t.Errorf("of one tool, twice: %q", got)
	}
	h.learn(denials("a", "a"))
	if got := usual(h, nil, denials("a", "a")); got != "a " || asked != 1 {
		t.Errorf("of a call that went well: %q, asked %d times", got, asked)
	}
	later := at.Add(time.Second)
	if got := usual(h, &at, denials("c", "c")) + usual(h, &later, denials("c", "c")); got != "c " {
		t.Errorf("from before the first call: %q", got)
	}
}

// TestUsualPorts: a port of the loopback is a usual one if the server tried it before its first call,
// or in a call that went well.
func TestUsualPorts(t *testing.T) {
	t.Parallel()
	first := time.Now()
	port := func(n int, at time.Time) policy.Unanswered {
		return policy.Unanswered{Host: "localhost", Port: n, Time: at}
	}
	h := &usualHosts{}
	h.learnPorts([]policy.Unanswered{port(2, first.Add(time.Second))})
	got := []policy.Unanswered{port(1, first.Add(-time.Second)), port(2, first.Add(time.Minute)), port(3, first.Add(time.Minute))}
	h.classifyPorts(got, &first)
	if !got[0].Background || !got[1].Background || got[2].Background {
		t.Errorf("%+v", got)
	}
	if h.classifyPorts(got[:1], nil); got[0].Background {
		t.Error("before the first call no port is a usual one")
	}
}
