// Package observed passes on what a watched server does, and tells whether the jail or the host lacks a name.
package observed

import (
	"os"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Observer passes observations of one jail to a function, one after the other.
type Observer struct {
	mu   sync.Mutex
	tell func(policy.Observation)
}

// New returns an observer, or nil if tell is nil: then nothing is observed.
func New(tell func(policy.Observation)) *Observer {
	if tell == nil {
		return nil
	}
	return &Observer{tell: tell}
}

// Tell passes on an observation.
func (o *Observer) Tell(seen policy.Observation) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tell(seen)
}

// Report passes on an observation of the supervisor.
func (o *Observer) Report(m spec.Event, p *plan.Plan) {
	seen := policy.Observation{
		Axis: policy.Axis(m.Step), Operation: m.Detail, Target: m.Target, Absent: m.Seen&spec.SeenAbsent != 0, Dir: m.Seen&spec.SeenDir != 0,
		Refused: m.Seen&spec.SeenRefused != 0, Program: m.Program, PID: m.Pid, Count: m.Num, Time: time.Now(),
	}
	seen.Arguments, _ = spec.SplitArguments(m.Arguments)
	if seen.Refused && seen.Absent && m.Target != policy.DenialOthers {
		// The jail lacks the name. If the host has what the call needs, the jail is the reason.
		var refused, absent bool // of their own: a look that comes too late still sets them
		seen.Refused, seen.Absent = false, true
		if withTimeout(func() bool {
			_, err := os.Stat(m.Target)
			refused, absent = onHost(m), err != nil
			return true
		}) {
			seen.Refused, seen.Absent = refused, absent
		}
	}
	seen.Discarded = !seen.Refused && writes(m.Detail) && discards(p, m.Target)
	o.Tell(seen)
}

func writes(operation string) bool {
	switch operation {
	case policy.OpWrite.String(), policy.OpTruncate.String(), policy.OpCreate.String(), policy.OpMkdir.String(), policy.OpRemove.String():
		return true
	}
	return false
}

// discards reports whether what the server writes to a path is a copy that ends with its process.
func discards(p *plan.Plan, target string) bool {
	if own := p.Spec.Home; own != "" && policy.Within(target, own) {
		return true
	}
	e, ok := p.Profile.Find(target)
	return ok && e.Ephemeral
}
