package spec

import (
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Refusal is a refusal as the supervisor sees it.
type Refusal struct {
	Axis      policy.Axis
	Operation string
	Target    string // policy.DenialOthers if there are too many different targets
	Absent    bool   // the jail has no such name; only the launcher can tell whether the host has it
}

// How many refusals the supervisor reports.
const (
	Window      = time.Second // after which repeated refusals are reported as one count
	MaxRefusals = 1000        // different ones in one window, and in one session
	MaxAbsents  = 250         // of those with Absent set; the launcher looks up each of them
	MaxAgain    = 100         // repeats in one window that are reported at once
)

// Event returns the event that reports the refusal, which happened so many times.
func (s Refusal) Event(times int) Event {
	m := Event{Kind: EventRefused, Step: string(s.Axis), Detail: s.Operation, Target: s.Target, Num: times}
	if s.Absent {
		m.Kind = EventAbsent
	}
	return m
}

// Refusal returns the refusal that the event reports. Absent is set only for the sum of the
// others, because the launcher has looked up all other names by then.
func (m Event) Refusal() Refusal {
	return Refusal{policy.Axis(m.Step), m.Detail, m.Target, m.Kind == EventAbsent && m.Target == policy.DenialOthers}
}
