package confine

import (
	"strconv"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Notice is a message of a jail about itself. Its server continues to run.
type Notice struct {
	Text    string
	Warning bool  // something that was granted does not work; false: for the log only
	Leak    *Leak // if it is set, the other fields are not
}

// Leak is a secret in a request of the server that was sent on to a host.
type Leak = egress.Leak

// Exit is how a program ended.
type Exit struct {
	Code   int            // exit status; 128+n after signal n
	Signal syscall.Signal // 0 unless a signal ended it
	Why    string         // why the jail could not be enforced any longer, if that ended the program; else ""
}

// limitReached adds a denial for a limit that was reached. key is the policy's key that raises
// the limit. Each process that was ended gets a denial of its own; all other events of one
// limit share a denial, which has the time of the latest.
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
