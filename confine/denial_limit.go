package confine

import (
	"strconv"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

// limitReached adds to the denials that a limit was reached: key is the one of the
// policy that raises it. What goes on is one denial, whose time is the latest; each
// process that was ended is its own.
func limitReached(denials []policy.Denial, key, what string, value, pid int, program string) []policy.Denial {
	d := policy.Denial{
		Axis: policy.AxisLimits, Operation: what, Target: key + " = " + strconv.Itoa(value),
		PID: pid, Program: program, Count: 1, Time: time.Now(),
	}
	for i := range denials {
		old := &denials[i]
		if pid == 0 && old.Axis == d.Axis && old.Operation == d.Operation && old.Target == d.Target {
			old.Count++
			old.Time = d.Time
			return denials
		}
	}
	return append(denials, d)
}
