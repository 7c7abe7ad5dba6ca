//go:build unix

package lifecycle

import (
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestUsualHostsComeLast: a host that was refused before the call, and again during it,
// ranks behind the host that only the call has contacted. The session's record tells the
// next session.
func TestUsualHostsComeLast(t *testing.T) {
	t.Parallel()
	refused := func(host string, count int, at time.Time) policy.Denial {
		return policy.Denial{Axis: policy.AxisNet, Operation: "resolve", Target: host, Reason: "not_granted", Count: count, Time: at}
	}
	denials := []policy.Denial{refused("api.example", 1, time.Time{}), refused("telemetry.example", 9, time.Now().Add(-time.Hour))}
	p := begin(t, &fake{server: "failing", denials: denials}, func(s *Session) {
		s.Profile.Entries = []policy.Entry{{Path: "/", Kind: policy.KindDir, Rights: policy.AllRights}} // what the text names
		s.Earlier = func() (diagnostics.Record, bool) {
			return diagnostics.Record{Denials: []policy.Denial{{Axis: policy.AxisNet, Target: "updates.example", Background: true}, {Axis: policy.AxisNet, Target: "api.example"}}}, true
		}
	})
	p.send(callLine)
	got := p.line()
	api, telemetry := strings.Index(got, `to resolve \"api.example\"`), strings.Index(got, `to resolve \"telemetry.example\"`)
	if api < 0 || telemetry < api || !strings.Contains(got, `host = \"api.example\"`) || strings.Contains(got, `host = \"telemetry.example\"`) {
		t.Errorf("want api.example in front, and its line alone:\n%s", got)
	}
	p.in.Close()
	p.rest()
	p.ended()
	usual := map[string]bool{}
	for _, d := range p.record.Denials {
		usual[d.Target] = d.Background
	}
	if !usual["telemetry.example"] || usual["api.example"] || len(usual) != 2 {
		t.Errorf("recorded as usual: %v", usual)
	}
	if r := p.record.Remedies; len(r) != 2 || r[0].Target != "api.example" || len(r[1].Grant) == 0 {
		t.Errorf("remedies %+v", r)
	}
}

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
