package spec

import (
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

// sighting is a refusal as a supervisor sees it.
type Refusal struct {
	Axis      policy.Axis
	Operation string
	Target    string // others, where it got no place of its own
	Absent    bool   // the jail has no such name: whether that is a refusal, the host knows
}

const (
	Window      = time.Second
	MaxRefusals = 1000 // different ones of a page, and of a session
	MaxAbsents  = 250  // the launcher looks each of them up
	MaxAgain    = 100
)

func (s Refusal) Event(times int) Event {
	m := Event{Kind: EventRefused, Step: string(s.Axis), Detail: s.Operation, Target: s.Target, Num: times}
	if s.Absent {
		m.Kind = EventAbsent
	}
	return m
}

// sighting is what m is about; whether the jail alone does not have it, is known by now.
func (m Event) Refusal() Refusal {
	return Refusal{policy.Axis(m.Step), m.Detail, m.Target, m.Kind == EventAbsent && m.Target == policy.DenialOthers}
}
