package confine

import (
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
)

// refusals are what a supervisor reported in a session. The first maxRefusals are kept,
// each once, and the others of a kind as one: that there were more is never lost.
type refusals struct {
	index map[spec.Sighting]int
	all   []refused
}

type refused struct {
	policy.Denial
	until time.Time // it goes on, and how often is told later
}

func (r *refusals) knows(m spec.Message) bool {
	_, known := r.index[m.Sighting()]
	return known
}

func (r *refusals) add(m spec.Message, now time.Time) {
	s := m.Sighting()
	if !r.knows(m) && len(r.index) >= spec.MaxRefusals {
		s.Target = policy.DenialOthers
	}
	i, known := r.index[s]
	if !known && m.Num == 0 {
		return
	}
	if !known {
		if r.index == nil {
			r.index = make(map[spec.Sighting]int)
		}
		i = len(r.all)
		r.index[s] = i
		r.all = append(r.all, refused{Denial: denialOf(s, now)})
	}
	d := &r.all[i]
	d.Count += m.Num
	if known && m.Num > 0 {
		d.Last = now
	}
	if m.Pid > 0 {
		d.PID, d.Program = m.Pid, m.Program
	}
	d.until = time.Time{}
	if m.Held {
		d.until = now.Add(spec.PageTime) // by then the page has ended
	}
}

func denialOf(s spec.Sighting, now time.Time) policy.Denial {
	d := policy.Denial{Axis: s.Axis, Operation: s.Operation, Target: s.Target, Time: now}
	switch {
	case s.Target != policy.DenialOthers:
	case s.Absent:
		d.Reason, d.Detail = policy.DeniedAbsent, "more names were missing in the jail than were looked up on the host, where they may be missing too"
	default:
		d.Reason, d.Detail = policy.DeniedLimit, "too many different refusals to record each"
	}
	return d
}

// list tells all of them. What goes on was refused until now.
func (r *refusals) list(now time.Time) []policy.Denial {
	out := make([]policy.Denial, len(r.all))
	for i, d := range r.all {
		out[i] = d.Denial
		latest := now
		if d.until.Before(now) {
			latest = d.until
		}
		if latest.After(d.Time) && latest.After(d.Last) {
			out[i].Last = latest
		}
	}
	return out
}
