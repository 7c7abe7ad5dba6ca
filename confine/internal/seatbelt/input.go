// Package seatbelt compiles a profile to the language of macOS's sandbox. It is pure.
package seatbelt

import (
	"errors"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Version changes with each change of the text that Compile writes for the same Input. The
// self-test of a Mac counts for one version only.
const Version = 1

// Form is how exclusions are written. The self-test tells which one a system carries out.
type Form uint8

const (
	Conditional Form = iota // allows with require-not, and no deny but the default
	Layered                 // per operation, from shallow to deep: allow, deny, allow
)

// Input is all that a text depends on.
type Input struct {
	Profile *policy.Profile
	Tag     string // names the session in the log of the system: "mcpj-" and 8 hex digits
	Self    string // the running program, which executes the server from inside
	TempDir string // the server's own TMPDIR, with all rights; "" for none
	// ProxyPort is the port of the session's own proxy on 127.0.0.1 and ::1. 0: no hosts are granted.
	ProxyPort int
	Inbound   bool // the server may listen on ports
	NoFork    bool // it may start no process
	Form      Form
	Without   []string // optional operations that this system does not know
}

// Text is a profile for sandbox-exec: the text for -f, and NAME=value for each -D.
type Text struct {
	Profile string
	Params  []string
}

// Compile returns the text of a profile. It is not built yet.
func Compile(Input) (Text, error) {
	return Text{}, errors.New("no profile can be compiled for macOS yet")
}
