package integration

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestHostNSMemory: the sampler counts the descendants of the supervisor, and no other process.
func TestHostNSMemory(t *testing.T) {
	jailtest.NeedsHostNS(t)
	p := jailtest.Profile(t)
	p.Limits = policy.Limits{MemoryMB: 64}
	for _, what := range []attacker.Attempt{attacker.Try("allocate", "200"), attacker.Try("allocate-two", "60")} {
		s := jailtest.BeginBy(t, jailtest.WaivesGaps, p, what)
		s.Finish()
		if d := s.Denials(); len(d) == 0 || d[0].Axis != policy.AxisLimits || d[0].Operation != "memory" {
			t.Errorf("%v: denials %+v", what, d)
		}
	}
}

func TestHostNSProcesses(t *testing.T) {
	jailtest.NeedsHostNS(t)
	if os.Getuid() == 0 {
		return // exempt, and the plan says so
	}
	p := jailtest.Profile(t)
	p.Limits = policy.Limits{Processes: 60}
	got := jailtest.AttemptsHostNS(t, p, attacker.Try("fork", "600"))[0]
	n, why, _ := strings.Cut(strings.TrimPrefix(got, "ok "), " ")
	if count, err := strconv.Atoi(n); err != nil || why != "EAGAIN" || count > 300 {
		t.Errorf("%s", got)
	}
}
