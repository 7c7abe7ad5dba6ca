package mediate

import (
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
)

// A page is what a ledger saw within pageTime. A server decides how often it is
// refused; what is remembered of that, and what the launcher is told, is bounded by
// the page. Nothing of it comes too late: what will be told at the end of the page is
// announced, and until then the launcher takes it to go on.
type window struct {
	seen     map[spec.Refusal]*counter
	refusals int // that have a place
	absents  int // that have one: they take it from nobody else
	again    int // repeats that were told at once
}

type counter struct {
	unreported int
	held       bool // announced: the rest is told with the page
}

// count counts a sighting. What is told of it goes by the name that is returned; with
// held it announces that more of it is told later.
func (p *window) count(s spec.Refusal) (as spec.Refusal, tell, held bool) {
	t, again := p.seen[s]
	if !again && !p.slot(s.Absent) {
		s.Target = policy.DenialOthers
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

// slot takes a place for a new sighting, if there is one.
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

// flush are messages about what was announced: how often it was, if at all.
func (p *window) flush() (all []spec.Event) {
	for s, t := range p.seen {
		if t.held {
			all = append(all, s.Event(t.unreported))
		}
	}
	return all
}
