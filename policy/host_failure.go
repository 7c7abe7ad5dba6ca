package policy

import "time"

// HostFailure is a granted host that this machine could not reach for a jail. It is not a Denial:
// the jail refused nothing.
type HostFailure struct {
	Host   string
	Port   int    // 0 if the name could not be resolved
	Answer string // the machine's answer, in words
	Time   time.Time
}
