package confine

import (
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

// refusals are what a supervisor reported in a session. The first maxRefusals are kept,
// each once, and the others of a kind as one: that there were more is never lost.
type refusals struct {
	index map[sighting]int
	all   []refused
}

type refused struct {
	Denial
	until time.Time // it goes on, and how often is told later
}

// sighting is what m is about; whether the jail alone does not have it, is known by now.
func (m message) sighting() sighting {
	return sighting{policy.Axis(m.step), m.detail, m.target, m.kind == saysAbsent && m.target == others}
}

func (r *refusals) knows(m message) bool {
	_, known := r.index[m.sighting()]
	return known
}

func (r *refusals) add(m message, now time.Time) {
	s := m.sighting()
	if !r.knows(m) && len(r.index) >= maxRefusals {
		s.target = others
	}
	i, known := r.index[s]
	if !known && m.num == 0 {
		return
	}
	if !known {
		if r.index == nil {
			r.index = make(map[sighting]int)
		}
		i = len(r.all)
		r.index[s] = i
		r.all = append(r.all, refused{Denial: denialOf(s, now)})
	}
	d := &r.all[i]
	d.Count += m.num
	if known && m.num > 0 {
		d.Last = now
	}
	if m.pid > 0 {
		d.PID, d.Program = m.pid, m.program
	}
	d.until = time.Time{}
	if m.held {
		d.until = now.Add(pageTime) // by then the page has ended
	}
}

func denialOf(s sighting, now time.Time) Denial {
	d := Denial{Axis: s.axis, Operation: s.operation, Target: s.target, Time: now}
	switch {
	case s.target != others:
	case s.absent:
		d.Reason, d.Detail = "absent", "more names that the jail does not have than were looked up: perhaps nobody has them"
	default:
		d.Reason, d.Detail = "limit", "there was no room for these on record"
	}
	return d
}

// list tells all of them. What goes on was refused until now.
func (r *refusals) list(now time.Time) []Denial {
	out := make([]Denial, len(r.all))
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
