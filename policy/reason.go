package policy

import (
	"path"
	"strings"
)

// Reason is what is known of the object of a change, and speaks against it. What comes of that is decided in
// diagnostics/change.
type Reason struct {
	Kind  ReasonKind `json:"kind"`
	Names []string   `json:"names,omitempty"` // of what it is about: see the kinds
}

// ReasonKind is the kind of a reason. A new one needs an attack or a report, and a row of its table.
type ReasonKind string

// The kinds of what a path is.
const (
	WhyAllFiles     ReasonKind = "all_files"     // a whole home directory, or more
	WhyDecides      ReasonKind = "decides"       // about jails, or about what runs outside; the names say how, or in which place it lies
	WhyHoldsDecider ReasonKind = "holds_decider" // such a place, which has the name, lies in it
	WhyProtected    ReasonKind = "protected"     // programs outside run or trust what is written there
	WhyOfSystem     ReasonKind = "of_system"     // to be written
	WhyRaises       ReasonKind = "raises"        // a program that runs as another user
	WhySensitive    ReasonKind = "sensitive"     // keys or passwords; the name is that of the place
	WhyLogin        ReasonKind = "login"         // the login of one program, and of no other; the name is that of the place
	WhyCommands     ReasonKind = "commands"      // a socket behind which programs run outside; the name says what they do
	WhyKeyName      ReasonKind = "key_name"      // the name of a file with keys
	WhySocket       ReasonKind = "socket"        // of this machine
	WhyGitDir       ReasonKind = "git_dir"       // to be written, but for the protected names in it
	WhyOfOthers     ReasonKind = "of_others"     // of the system, or of another user
	WhyShared       ReasonKind = "shared"        // of many programs
	WhyChoosesCode  ReasonKind = "chooses_code"  // a store of packages, with what runs it; or a variable that names code
	WhyInHome       ReasonKind = "in_home"       // directly in the home directory

	WhyOtherProgram  ReasonKind = "other_program"  // another server is started from it; the names are of the server, and of the path
	WhyBesideProgram ReasonKind = "beside_program" // it lies beside that
	WhyOtherFile     ReasonKind = "other_file"     // the line of another server names it; the names are as above
)

// Started is what a server is started from, without what is the system's. With an Err, that is not known of any.
type Started struct {
	Key     string `json:"key"`  // of the server
	Name    string `json:"name"` // for people
	Program string `json:"program,omitempty"`
	Parts   []Part `json:"parts,omitempty"` // see Profile
	// Files are regular files that its line names beside them.
	Files []string `json:"files,omitempty"`
	Err   error    `json:"-"` // no server starts with it
}

// The kinds of what the server has, and of what a change would do.
const (
	WhyOwnProgram    ReasonKind = "own_program"     // the server is started from it, or from what the name says, which lies in it
	WhyDenied        ReasonKind = "denied"          // the name is that of the rule
	WhyNoRule        ReasonKind = "no_rule"         // no flag changes it
	WhyListing       ReasonKind = "listing"         // for the process that lists the tools of a per-call server
	WhyWouldNotStart ReasonKind = "would_not_start" // the name is the error
	WhyGivesMore     ReasonKind = "gives_more"      // the name says what else
)

// The kinds of what a host or a variable is.
const (
	WhyAnyHost     ReasonKind = "any_host"
	WhyProxy       ReasonKind = "proxy"        // of the user's
	WhyThisMachine ReasonKind = "this_machine" // or its network; the name says what, as NetRule.SpecialTarget
	WhyTokenName   ReasonKind = "token_name"   // a variable, which may hold a token
	WhyLifts       ReasonKind = "lifts"        // all of a host of which the server has a part; the names are of the host, and of the parts
)

// ReasonsOfVariable returns what speaks against a variable.
func ReasonsOfVariable(name string) []Reason {
	if IsDangerousVariable(name) {
		return []Reason{{Kind: WhyChoosesCode}}
	}
	return []Reason{{Kind: WhyTokenName}}
}

// SocketOf returns the path of the socket that the value of a variable names, as DOCKER_HOST, DBUS_SESSION_BUS_ADDRESS and
// SSH_AUTH_SOCK do, or "".
func SocketOf(value string) string {
	if _, after, ok := strings.Cut(value, "unix:path="); ok {
		value, _, _ = strings.Cut(after, ",")
	}
	value = strings.TrimPrefix(value, "unix://")
	if !strings.HasPrefix(value, "/") {
		return ""
	}
	return path.Clean(value)
}
