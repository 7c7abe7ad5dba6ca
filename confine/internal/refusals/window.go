package refusals

import (
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
)

// window counts the refusals of one spec.Window of time. The server decides how often it is
// refused, so a window bounds the memory and the events that refusals cost. An event with Held
// set announces that a count follows at the end of the window. Until then the launcher assumes
// that the refusal is still being repeated.
type window struct {
	seen     map[spec.Refusal]*counter
	refusals int // refusals in seen, at most spec.MaxRefusals
	absents  int // missing names in seen, at most spec.MaxAbsents
	again    int // repeats that were reported at once
}

type counter struct {
	unreported int  // sightings since it was announced
	held       bool // announced: flush reports the rest
}

// count counts one refusal. It returns the refusal to report, which stands for several others
// when the window is full, and whether to report it now. held announces that flush reports
// more of it.
func (p *window) count(s spec.Refusal) (as spec.Refusal, tell, held bool) {
	t, again := p.seen[s]
	if !again && !p.slot(s.Absent) {
		s.Target, s.Arguments = policy.DenialOthers, ""
		t = p.seen[s]
	}
	if t == nil {
		if p.seen == nil {
			p.seen = make(map[spec.Refusal]*counter)
		}
		t = &counter{}
		p.seen[s] = t
	}
	switch {
	case t.held:
		t.unreported++
		return s, false, true
	case s.Target == policy.DenialOthers, again && p.again == spec.MaxAgain:
		t.held = true
	case again:
		p.again++
	}
	return s, true, t.held
}

func (p *window) slot(absent bool) bool {
	taken, all := &p.refusals, spec.MaxRefusals
	if absent {
		taken, all = &p.absents, spec.MaxAbsents
	}
	if *taken == all {
		return false
	}
	*taken++
	return true
}

// flush returns one event for each announced refusal, with the count since then (0 for none).
func (p *window) flush() (all []spec.Event) {
	for s, t := range p.seen {
		if t.held {
			all = append(all, s.Event(t.unreported))
		}
	}
	return all
}
