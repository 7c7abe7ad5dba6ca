//go:build unix

package lifecycle

import (
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestUsualHostsComeLast: a host that was refused before the call, and again during it,
// ranks after the host that only the call has contacted. The session's record tells the
// next session.
func TestUsualHostsComeLast(t *testing.T) {
	t.Parallel()
	refused := func(host string, count int, at time.Time) policy.Denial {
		return policy.Denial{Axis: policy.AxisNet, Operation: "resolve", Target: host, Reason: "not_granted", Count: count, Time: at}
	}
	denials := []policy.Denial{refused("api.example", 1, time.Time{}), refused("telemetry.example", 9, time.Now().Add(-time.Hour))}
	p := begin(t, &sessiontest.Fake{Server: "grumbling", Denials: denials}, func(s *session.Session) {
		s.Profile.Entries = []policy.Entry{{Path: "/", Kind: policy.KindDir, Rights: policy.AllRights}} // what the text names
		s.Earlier = func() (diagnostics.Record, bool) {
			return diagnostics.Record{Denials: []policy.Denial{{Axis: policy.AxisNet, Target: "updates.example", Background: true}, {Axis: policy.AxisNet, Target: "api.example"}}}, true
		}
	})
	p.Send(sessiontest.CallLine)
	got := p.Line()
	api, telemetry := strings.Index(got, `may not reach api.example`), strings.Index(got, `"target":"telemetry.example"`)
	if api < 0 || telemetry < api || strings.Contains(got, "telemetry.example\\") {
		t.Errorf("want api.example alone in front:\n%s", got)
	}
	p.Close()
	usual := map[string]bool{}
	for _, d := range p.Record.Denials {
		usual[d.Target] = d.Background
	}
	if !usual["telemetry.example"] || usual["api.example"] || len(usual) != 2 {
		t.Errorf("recorded as usual: %v", usual)
	}
}
