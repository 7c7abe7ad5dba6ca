package confine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestJailMemoryOfASwarm: many processes that are started again as soon as they are
// ended do not get the jail over its limit for long: it ends.
func TestJailMemoryOfASwarm(t *testing.T) {
	needsJail(t)
	needs(t, "fresh_proc")
	for _, c := range []struct {
		name  string
		what  attempt
		limit int // MB
		ends  bool
	}{
		{"sleeping", try("swarm", "40", "15", "8"), 120, true},
		{"small", try("swarm", "60", "10", "8"), 120, true},
		{"busy in sessions of their own", try("swarm", "40", "15", "8", "busy"), 120, true},
		{"control", try("swarm", "40", "15", "2"), 1024, false},
		{"control, busy", try("swarm", "40", "15", "2", "busy"), 1024, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := begin(t, limited(t, policy.Limits{MemoryMB: c.limit}), c.what)
			used := usedUntilDone(s.Process)
			s.finish()
			median := used[len(used)/2]
			t.Logf("%d samples: median %d MB, most %d MB; denials %.600s", len(used), median, used[len(used)-1], fmt.Sprint(s.Denials()))
			told := slices.ContainsFunc(s.Denials(), func(d Denial) bool {
				return d.Axis == policy.AxisLimits && strings.HasPrefix(d.Operation, "memory") && d.Target == "memory_mb = "+strconv.Itoa(c.limit)
			})
			if told != c.ends {
				t.Errorf("denials %+v", s.Denials())
			}
			lived := strings.Contains(s.out.String(), succeeded)
			if !c.ends && !lived {
				t.Errorf("it ended below its limit: %.300q", s.errs.text)
			}
			if c.ends && lived && median > c.limit {
				t.Errorf("it was at %d MB of %d half of the time, and lived", median, c.limit)
			}
		})
	}
	expect(t, "without a jail", unconfined(t, "/", try("swarm", "40", "15", "1"))[0], succeeded)
}

// usedUntilDone is what the jail used, in MB, as the host sees it, from little to much.
func usedUntilDone(p *Process) (used []int) {
	w := memoryWatch{proc: "/proc", members: func() ([]string, error) { return from(p.PID()) }}
	for {
		var all int64
		pids, _ := w.members()
		for _, pid := range pids {
			all += w.proportional(pid, w.resident(pid)).total
		}
		used = append(used, int(all>>20))
		select {
		case <-p.Done():
			slices.Sort(used)
			return used
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// from are the numbers of the processes that come from another one.
func from(ancestor int) (pids []string, err error) {
	of, err := parents()
	for pid := range of {
		up := of[pid]
		for up > 1 && up != ancestor {
			up = of[up]
		}
		if up == ancestor {
			pids = append(pids, strconv.Itoa(pid))
		}
	}
	return pids, err
}

// TestJailLivesWithAGlutton: children that are over the limit one after the other are
// ended, and their server goes on.
func TestJailLivesWithAGlutton(t *testing.T) {
	needsJail(t)
	needs(t, "fresh_proc")
	s := begin(t, limited(t, policy.Limits{MemoryMB: 64}), try("glutton", "8", "100"))
	s.finish()
	if got := s.out.String(); !strings.Contains(got, succeeded+" 8") {
		t.Errorf("%s, denials %+v, %.300q", got, s.Denials(), s.errs.text)
	}
	if d := denied(s.Process, "memory"); d.Target != "memory_mb = 64" {
		t.Errorf("denials %+v", s.Denials())
	}
}
