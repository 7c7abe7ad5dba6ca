package confine

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestBareMemory: the sampler looks at the descendants of the init, and at nobody else.
func TestBareMemory(t *testing.T) {
	needsBare(t)
	p := jailProfile(t)
	p.Limits = policy.Limits{MemoryMB: 64}
	for _, what := range []attempt{try("allocate", "200"), try("allocate-two", "60")} {
		s := beginWith(t, allGaps, p, what)
		s.finish()
		if d := s.Denials(); len(d) == 0 || d[0].Axis != policy.AxisLimits || d[0].Operation != "memory" {
			t.Errorf("%v: denials %+v", what, d)
		}
	}
}

func TestBareProcesses(t *testing.T) {
	needsBare(t)
	if os.Getuid() == 0 {
		return // exempt, and the plan says so
	}
	p := jailProfile(t)
	p.Limits = policy.Limits{Processes: 60}
	got := inBare(t, p, try("fork", "600"))[0]
	n, why, _ := strings.Cut(strings.TrimPrefix(got, "ok "), " ")
	if count, err := strconv.Atoi(n); err != nil || why != "EAGAIN" || count > 300 {
		t.Errorf("%s", got)
	}
}
