package spec

import "github.com/mcp-jail/mcp-jail/policy"

// Watch says what the supervisor reports beyond the refusals of the calls that it decides. To watch
// is to record: no call is allowed or refused because of it.
type Watch int

const (
	WatchNothing Watch = iota
	// WatchReads reports each open that only reads and that the jail refuses.
	WatchReads
	// WatchAll reports what the server does with files, programs and sockets, granted or refused.
	WatchAll
)

// Seen says more about what an EventObserved reports.
type Seen uint8

const (
	SeenRefused Seen = 1 << iota
	// SeenAbsent says that the jail has nothing at the path. With SeenRefused, the launcher looks
	// whether the host has.
	SeenAbsent
	SeenDir // a directory is at the path, or the path stands for many names in a directory
)

// Sighting is something that the server did, as the supervisor sees it. Equal ones are counted
// until the launcher asks to begin afresh.
type Sighting struct {
	Axis      policy.Axis
	Operation string
	Target    string // policy.DenialOthers if there are too many different ones
	Arguments string // of a program: see JoinArguments
	Seen      Seen
}

// Event returns the event that reports the sighting, which happened so many times.
func (s Sighting) Event(times int) Event {
	return Event{Kind: EventObserved, Step: string(s.Axis), Detail: s.Operation, Target: s.Target, Arguments: s.Arguments, Seen: s.Seen, Num: times}
}

// How many sightings the supervisor tells apart until it begins afresh. Beyond these bounds it
// counts.
const (
	MaxSighted      = 8192    // different ones
	MaxSightedIn    = 512     // different names in one directory
	MaxSightedBytes = 2 << 20 // of all paths and arguments
)
