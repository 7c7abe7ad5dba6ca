package policy

import (
	"time"
)

// Denial is an access that a jail refused and recorded. All stages from the refusal to its
// display use this type. Its JSON form is that of docs/reference.md, "Answers to tool calls".
type Denial struct {
	Axis      Axis         `json:"axis"`
	Operation string       `json:"operation"` // "write", "exec", "connect", "resolve", "memory", …
	Target    string       `json:"target"`    // path, host:port, name, or limit with its value
	Reason    DenialReason `json:"reason,omitempty"`
	Arguments []string     `json:"arguments,omitempty"` // of a program, with DeniedArguments; the first is its name
	Detail    string       `json:"detail,omitempty"`    // more about the reason: the refused address, the name in a handshake
	PID       int          `json:"pid,omitempty"`
	Program   string       `json:"program,omitempty"`
	Count     int          `json:"count"`
	Time      time.Time    `json:"time"`           // of the first refusal
	Last      time.Time    `json:"last,omitzero"`  // of the latest, where several are counted as one
	Tool      string       `json:"tool,omitempty"` // the tool that the process served, where each call has its own process

	// Background means that the server meets this refusal also where nothing fails, for
	// example at every start.
	Background bool `json:"usual,omitempty"`
}

// Latest returns the time of the latest refusal.
func (d Denial) Latest() time.Time {
	if d.Last.IsZero() {
		return d.Time
	}
	return d.Last
}

// DenialOthers is the target of denials that the jail counted without recording their
// targets.
const DenialOthers = "(others)"

// DenialReason is the reason why an access was refused, where the axis has several reasons. A
// jail without a network leaves it out: it has one reason only.
type DenialReason string

// The reasons. All but DeniedAbsent, DeniedOwnHome, DeniedLimit and DeniedArguments occur on the net
// axis only.
const (
	DeniedNotGranted  DenialReason = "not_granted"  // no rule allows the host, or not that port
	DeniedAddress     DenialReason = "address"      // the name is granted, its address is not
	DeniedWrongName   DenialReason = "wrong_name"   // the first bytes name another host, or none
	DeniedWrongScheme DenialReason = "wrong_scheme" // the rule is for another protocol
	DeniedAmbiguous   DenialReason = "ambiguous"    // two readers could understand different things
	DeniedRequest     DenialReason = "request"      // the path or method is not granted
	DeniedLimit       DenialReason = "limit"        // a limit was reached; on all axes
	DeniedSecret      DenialReason = "secret"       // the placeholder of a secret in a place where none is replaced
	DeniedLeak        DenialReason = "leak"         // the request has a secret that is not meant for the host
	DeniedUnsupported DenialReason = "unsupported"  // the host is granted, but cannot be reached from here

	// DeniedArguments is for the start of a file that may be started, but not with this argv[0]
	// or these arguments. Detail says if Arguments is incomplete.
	DeniedArguments DenialReason = "arguments"

	// DeniedAbsent is for names that the jail does not show and that were not looked up on
	// the host, which may not have them either.
	DeniedAbsent DenialReason = "absent"

	// DeniedOwnHome is for what the server tried to make in its private HOME, in a directory that this lacks
	// and the user's has. The target is the place in the user's.
	DeniedOwnHome DenialReason = "own_home"
)

// IsValid reports whether r is one of the reasons above.
func (r DenialReason) IsValid() bool {
	switch r {
	case DeniedNotGranted, DeniedAddress, DeniedWrongName, DeniedWrongScheme, DeniedAmbiguous,
		DeniedRequest, DeniedLimit, DeniedSecret, DeniedLeak, DeniedUnsupported, DeniedArguments, DeniedAbsent, DeniedOwnHome:
		return true
	}
	return false
}

// HostFailure is a granted host that this machine could not reach for a jail. It is not a Denial:
// the jail refused nothing.
type HostFailure struct {
	Host   string
	Port   int    // 0 if the name could not be resolved
	Answer string // the machine's answer, in words
	Time   time.Time
}

// HostTraffic is what jails have exchanged with one granted host, in bytes. Where too many hosts are counted, the rest
// are one with the name DenialOthers.
type HostTraffic struct {
	Host           string
	Port           int
	Connections    int
	Sent, Received int64
}

// Unanswered is a port of the jail's own loopback to which the server connected while no program of
// the jail listened there. It is not a Denial: outside of a jail the kernel refuses such a connection
// too, unless a program of the host listens there.
type Unanswered struct {
	Host string // "localhost", or another loopback address
	Port int
	Time time.Time // of the first connection
	Last time.Time // of the latest

	// Background means that the server meets this also where nothing fails, or that it was before
	// the work that fails.
	Background bool
}
