package confine

import (
	"strconv"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
)

// heldRefusals holds the refusals that a supervisor reported. It keeps the first
// spec.MaxRefusals different ones, and one more for the others of each kind.
type heldRefusals struct {
	index map[spec.Refusal]int
	all   []refusal
}

type refusal struct {
	policy.Denial
	restBy time.Time // repetitions until then are reported later; zero: none
}

// Knows reports whether this refusal was reported before.
func (l *heldRefusals) Knows(m spec.Event) bool {
	_, known := l.index[m.Refusal()]
	return known
}

// Add adds a refusal, or its repetitions. made says that the program made something in its private HOME.
func (l *heldRefusals) Add(m spec.Event, made bool, now time.Time) {
	s := m.Refusal()
	if !l.Knows(m) && len(l.index) >= spec.MaxRefusals {
		s.Target, s.Arguments = policy.DenialOthers, ""
	}
	i, known := l.index[s]
	if !known && m.Num == 0 {
		return
	}
	if !known {
		if l.index == nil {
			l.index = make(map[spec.Refusal]int)
		}
		i = len(l.all)
		l.index[s] = i
		l.all = append(l.all, refusal{Denial: newDenial(s, now)})
		if made && s.Target != policy.DenialOthers {
			l.all[i].Reason = policy.DeniedOwnHome
		}
	}
	d := &l.all[i]
	d.Count += m.Num
	if known && m.Num > 0 {
		d.Last = now
	}
	if m.Pid > 0 {
		d.PID, d.Program = m.Pid, m.Program
	}
	d.restBy = time.Time{}
	if m.Held {
		d.restBy = now.Add(spec.Window) // the supervisor reports the count within this time
	}
}

func newDenial(s spec.Refusal, now time.Time) policy.Denial {
	d := policy.Denial{Axis: s.Axis, Operation: s.Operation, Target: s.Target, Time: now}
	switch {
	case s.Arguments != "":
		var all bool
		if d.Arguments, all = spec.SplitArguments(s.Arguments); !all {
			d.Detail = "not all arguments are recorded"
		}
		d.Reason = policy.DeniedArguments
	case s.Target != policy.DenialOthers:
	case s.Absent:
		d.Reason, d.Detail = policy.DeniedAbsent, "more names were missing in the jail than were looked up on this machine, where they may be missing too"
	default:
		d.Reason, d.Detail = policy.DeniedLimit, "too many different refusals to record each"
	}
	return d
}

// List returns all denials. While the supervisor holds repetitions of a denial back, List takes
// the present for their time.
func (l *heldRefusals) List(now time.Time) []policy.Denial {
	out := make([]policy.Denial, len(l.all))
	for i, d := range l.all {
		out[i] = d.Denial
		latest := now
		if d.restBy.Before(now) {
			latest = d.restBy
		}
		if latest.After(d.Time) && latest.After(d.Last) {
			out[i].Last = latest
		}
	}
	return out
}

// limitReached adds a denial for a limit that was reached. key is the policy's key that raises
// the limit. Each process that was ended gets a denial of its own; all other events of one
// limit share a denial, which has the time of the latest.
func limitReached(denials []policy.Denial, key, what string, value, pid int, program string) []policy.Denial {
	d := policy.Denial{
		Axis: policy.AxisLimits, Operation: what, Target: key + " = " + strconv.Itoa(value),
		PID: pid, Program: program, Count: 1, Time: time.Now(),
	}
	for i := range denials {
		old := &denials[i]
		if pid == 0 && old.Axis == d.Axis && old.Operation == d.Operation && old.Target == d.Target {
			old.Count++
			old.Time = d.Time
			return denials
		}
	}
	return append(denials, d)
}
