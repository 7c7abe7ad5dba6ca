package learn

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Reason is why an observation has no rule.
type Reason string

const (
	Sensitive  Reason = "sensitive"  // a sensitive path
	Protected  Reason = "protected"  // the host runs or trusts it, or it is mcp-jail's own
	Socket     Reason = "socket"     // another program's socket
	Address    Reason = "address"    // an address, or a name of this machine or its network
	Telemetry  Reason = "telemetry"  // the host counts users
	Registry   Reason = "registry"   // the host has packages, which are installed ahead
	Unused     Reason = "unused"     // a name that was looked up, and to which nothing was sent
	Absent     Reason = "absent"     // there is nothing at the path
	Home       Reason = "home"       // the server has it in its private HOME
	System     Reason = "system"     // the jail has its own, or the system's is not for servers
	Wide       Reason = "wide"       // a rule would grant more than the server's own work
	Unwritable Reason = "unwritable" // no rule can name it
	Capped     Reason = "capped"     // beyond the length of a policy
	Other      Reason = "other"      // an observation of a kind that has no rules
)

// Unlearned is what the server did and the policy does not grant.
type Unlearned struct {
	Reason    Reason
	Axis      policy.Axis
	Operation string
	Target    string
	Why       string   // the sensitive path as it is written, or what would be granted
	Tools     []string // sorted; "" is the start
	Count     int
	First     time.Time
}

// A key identifies what was observed, whatever the order and the number of observations.
type key struct {
	axis              policy.Axis
	operation, target string
}

func keyOf(o policy.Observation) key {
	k := key{o.Axis, o.Operation, o.Target}
	if op := operation(o); op != 0 {
		k.axis, k.operation = policy.AxisFs, op.String()
	}
	if strings.HasPrefix(k.target, "/") {
		k.target = path.Clean(k.target)
	}
	return k
}

// leftOut collects what has no rule.
type leftOut map[key]*left

type left struct {
	reason Reason
	why    string
	tally
}

func (l leftOut) add(k key, reason Reason, why string, by *tally) {
	if l[k] == nil {
		l[k] = &left{reason: reason, why: why}
	}
	l[k].join(by)
}

func (l leftOut) list() (all []Unlearned) {
	for k, u := range l {
		all = append(all, Unlearned{u.reason, k.axis, k.operation, k.target, u.why, u.names(), u.total(), u.first})
	}
	slices.SortFunc(all, func(a, b Unlearned) int {
		if n := strings.Compare(string(a.Reason), string(b.Reason)); n != 0 {
			return n
		}
		if n := a.First.Compare(b.First); n != 0 {
			return n
		}
		return strings.Compare(a.Target+"\x00"+a.Operation+string(a.Axis), b.Target+"\x00"+b.Operation+string(b.Axis))
	})
	return all
}

func (l leftOut) join(other leftOut) {
	for k, u := range other {
		l.add(k, u.reason, u.why, &u.tally)
	}
}
