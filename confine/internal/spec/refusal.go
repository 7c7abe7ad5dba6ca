package spec

import (
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Refusal is a refusal as the supervisor sees it.
type Refusal struct {
	Axis      policy.Axis
	Operation string
	Target    string // policy.DenialOthers if there are too many different targets
	Arguments string // of a start: see Event
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
	m := Event{Kind: EventRefused, Step: string(s.Axis), Detail: s.Operation, Target: s.Target, Arguments: s.Arguments, Num: times}
	if s.Absent {
		m.Kind = EventAbsent
	}
	return m
}

// Refusal returns the refusal that the event reports. Absent is set only for the sum of the
// others, because the launcher has looked up all other names by then.
func (m Event) Refusal() Refusal {
	return Refusal{policy.Axis(m.Step), m.Detail, m.Target, m.Arguments, m.Kind == EventAbsent && m.Target == policy.DenialOthers}
}

// MaxArguments is how many bytes of the arguments of a refused start are recorded.
const MaxArguments = 4096

// UnknownArguments stands for arguments that could not be read.
const UnknownArguments = "p"

// JoinArguments returns the arguments of a refused start as one string. It leaves out the first
// argument that does not fit, and all after it.
func JoinArguments(args []string) string {
	joined := "a" // all of them
	for _, a := range args {
		if len(joined)+len(a) >= MaxArguments {
			return "p" + joined[1:] // a part
		}
		joined += a + "\x00"
	}
	return joined
}

// SplitArguments returns the arguments in a result of JoinArguments, and whether they are all.
func SplitArguments(joined string) (args []string, all bool) {
	if joined == "" {
		return nil, false
	}
	args = strings.Split(joined[1:], "\x00")
	return args[:len(args)-1], joined[0] == 'a'
}
