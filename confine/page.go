package confine

import (
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

// sighting is a refusal as a supervisor sees it.
type sighting struct {
	axis      policy.Axis
	operation string
	target    string // others, where it got no place of its own
	absent    bool   // the jail has no such name: whether that is a refusal, the host knows
}

// others is the target of what is counted and not told apart.
const others = "(others)"

// A page is what a ledger saw within pageTime. A server decides how often it is
// refused; what is remembered of that, and what the launcher is told, is bounded by
// the page. Nothing of it comes too late: what will be told at the end of the page is
// announced, and until then the launcher takes it to go on.
type page struct {
	seen     map[sighting]*tally
	refusals int // that have a place
	absents  int // that have one: they take it from nobody else
	again    int // repeats that were told at once
}

type tally struct {
	untold int
	held   bool // announced: the rest is told with the page
}

const (
	pageTime    = time.Second
	maxRefusals = 1000 // different ones of a page, and of a session
	maxAbsents  = 250  // the launcher looks each of them up
	maxAgain    = 100
)

// see counts a sighting. What is told of it goes by the name that is returned; with
// held it announces that more of it is told later.
func (p *page) see(s sighting) (as sighting, tell, held bool) {
	t, again := p.seen[s]
	if !again && !p.place(s.absent) {
		s.target = others
		t = p.seen[s]
	}
	if t == nil {
		if p.seen == nil {
			p.seen = make(map[sighting]*tally)
		}
		t = &tally{}
		p.seen[s] = t
	}
	switch {
	case t.held:
		t.untold++
		return s, false, true
	case s.target == others, again && p.again == maxAgain:
		t.held = true
	case again:
		p.again++
	}
	return s, true, t.held
}

// place takes a place for a new sighting, if there is one.
func (p *page) place(absent bool) bool {
	taken, all := &p.refusals, maxRefusals
	if absent {
		taken, all = &p.absents, maxAbsents
	}
	if *taken == all {
		return false
	}
	*taken++
	return true
}

// rest are messages about what was announced: how often it was, if at all.
func (p *page) rest() (all []message) {
	for s, t := range p.seen {
		if t.held {
			all = append(all, s.message(t.untold))
		}
	}
	return all
}

func (s sighting) message(times int) message {
	m := message{kind: saysRefused, step: string(s.axis), detail: s.operation, target: s.target, num: times}
	if s.absent {
		m.kind = saysAbsent
	}
	return m
}
