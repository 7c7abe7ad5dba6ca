package spec

import (
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

// sighting is a refusal as a supervisor sees it.
type Sighting struct {
	Axis      policy.Axis
	Operation string
	Target    string // others, where it got no place of its own
	Absent    bool   // the jail has no such name: whether that is a refusal, the host knows
}

const (
	PageTime    = time.Second
	MaxRefusals = 1000 // different ones of a page, and of a session
	MaxAbsents  = 250  // the launcher looks each of them up
	MaxAgain    = 100
)

func (s Sighting) Message(times int) Message {
	m := Message{Kind: SaysRefused, Step: string(s.Axis), Detail: s.Operation, Target: s.Target, Num: times}
	if s.Absent {
		m.Kind = SaysAbsent
	}
	return m
}
