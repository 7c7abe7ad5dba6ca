package confine

import (
	"strconv"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Notice is what a jail says of itself while its server runs, which goes on.
type Notice struct {
	Text    string
	Warning bool // something that was granted does not work; otherwise it is for a log
}

// Exit is how a program ended.
type Exit struct {
	Code   int            // exit status; 128+n after signal n
	Signal syscall.Signal // 0 unless a signal ended it
	Why    string         // why the jail ended it, which could not go on as promised; "" otherwise
}

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
