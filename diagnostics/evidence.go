package diagnostics

import (
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Evidence is everything known about one failure. Only Stage and Server are required.
// Missing evidence makes the diagnosis weaker.
type Evidence struct {
	Stage  Stage
	Server string
	Tool   string // the tool that was called; "" outside of a call
	Method string // the request that failed: "tools/list", "tools/call"; "" for none
	System string // the operating system, as Go names it; "" is Linux

	// Profile is the profile that the server ran under. Without it no cause can be Likely.
	Profile *policy.Profile
	// FromCommandLine means that the server was given as `run -- COMMAND`.
	FromCommandLine bool
	// InstallScripts is the command that runs the install scripts of the server's package, which
	// were skipped when it was installed. "" means that there are none, or that they ran.
	InstallScripts string
	// Warnings are those of the start, a line each. One that names what a failure names is its cause.
	Warnings []string
	// Unfit says that the server's interpreter is none that its package asks for. "" means that it is one.
	Unfit string
	// Stateless means that every call has its own process. Profile.Tool names the
	// tool; "" means the discovery process, to which no table can grant anything.
	Stateless bool

	Started bool          // with StageStartup: the server responds, and has complained on stderr
	Waiting bool          // a request waits for the server, which runs
	Start   *Start        // the program could not be started
	Exit    *Exit         // the process ended
	Unread  bool          // it was ended because it did not read what it had asked for
	Timeout time.Duration // the limit that passed; 0 when the failure is no time-out

	Stderr []string // the end of the server's stderr, oldest first; all of it that was written since the request
	// Earlier is how many of the first lines of Stderr were written before the failing work began. They
	// count less.
	Earlier int
	// RawStderr is Stderr without redaction, because a redacted path cannot be analyzed.
	// It is never shown. nil means Stderr.
	RawStderr []string
	// Text is the error message, or the text of the error result, of the failing request.
	// In a call with Denials, "" means that the call succeeded although the jail refused
	// something during it.
	Text string

	// Denials are the refusals that the jail recorded, oldest first.
	Denials []policy.Denial
	// HostFailures are the granted hosts that this machine could not reach, the latest last.
	HostFailures []policy.HostFailure
	// Unanswered are the ports of the jail's own loopback to which the server connected while no
	// program of the jail listened there, the latest last. In a call that succeeded there are none.
	Unanswered []policy.Unanswered
	// Replaced are the files that a rule names one by one, and that were replaced or removed since the start: their
	// canonical paths. The server has the old one, or none.
	Replaced []string
	// Redactor removes secrets. nil means a Redactor of the secret variables of Profile.
	Redactor *Redactor
	Unset    []string // variables that are granted but not set on the host
	Roots    []string // the roots that the client gave the server; nil when unknown

	// StartDir is the directory in which mcp-jail was started, in which the relative paths of the
	// server's arguments were meant. "" is unknown.
	StartDir string
	UserHome string // the user's home, so that paths are written with ~/; "" when unknown
	// SearchPath is the PATH of mcp-jail itself. It finds programs that the PATH of the
	// server does not show.
	SearchPath string
	Host       Host // nil means [Unknown]
}

// Host answers what a diagnosis asks about this machine, and about the server that runs on it.
type Host interface {
	// Exists reports whether a path exists outside the jail. A path that ends in "/." must be a directory.
	Exists(path string) (exists, known bool)
	// May reports whether the user has rights at a path without a jail: to read it, to change it or make
	// it, or to start it.
	May(path string, rights policy.Rights) bool
	// Canonical resolves the symbolic links of a path, also when its last components do not exist.
	Canonical(path string) string
	// Identity identifies what is at a path; zero if nothing is. It reports false if it cannot see that.
	Identity(path string) (policy.FileID, bool)
	// Variable returns the value of a variable where mcp-jail was started, or "". It is asked only for
	// those that name sockets.
	Variable(name string) string
	// Source returns the file from which a rule gives a variable, or "" for mcp-jail's own environment. Holds reports
	// whether a file of variables sets one of a name; only files that are hidden are asked for.
	Source(name string) string
	Holds(file, name string) bool
	// Listens reports whether a program listens at a port of the loopback. host is "localhost" or another
	// loopback address.
	Listens(host string, port int) (listens, known bool)
	// Stale reports whether nothing listens at a socket any more.
	Stale(path string) bool
	// Decide decides about changes of the policy.
	Decide(wants ...change.Want) []change.Proposal
	// Shared returns why a directory is not for one server alone, or "". None is proposed for the
	// sake of one file in it.
	Shared(dir string) string
	// Listening returns the TCP ports at which programs of the jail listen.
	Listening() []int
	// Elsewhere reports whether a port that leads in leads to another session of this server.
	Elsewhere(port int) bool
}

// Unknown is a Host that knows nothing. It proposes no change, and the user has all rights.
type Unknown struct{}

func (Unknown) Exists(string) (exists, known bool)        { return false, false }
func (Unknown) May(string, policy.Rights) bool            { return true }
func (Unknown) Canonical(path string) string              { return path }
func (Unknown) Identity(string) (policy.FileID, bool)     { return policy.FileID{}, false }
func (Unknown) Variable(string) string                    { return "" }
func (Unknown) Source(string) string                      { return "" }
func (Unknown) Holds(string, string) bool                 { return false }
func (Unknown) Listens(string, int) (listens, known bool) { return false, false }
func (Unknown) Stale(string) bool                         { return false }
func (Unknown) Shared(string) string                      { return "" }
func (Unknown) Listening() []int                          { return nil }
func (Unknown) Elsewhere(int) bool                        { return false }

func (Unknown) Decide(wants ...change.Want) (all []change.Proposal) {
	for _, w := range wants {
		all = append(all, change.Proposal{Want: w})
	}
	return all
}

// Start tells why the jail or the program could not be started. Its fields are those of
// confine.StartError, so that one type converts to the other.
type Start struct {
	Step   string        // StepExec, or the part of the jail that failed
	Errno  syscall.Errno // 0 when no system call failed
	Detail string        // the path or argument of the step; without an Errno, the reason
	Fix    string        // what the user can do, if the step knows
}

// StepExec is the step that starts the program. All other steps build the jail.
const StepExec = "exec"

// Exit tells how a process ended. Its fields are those of confine.Exit.
type Exit struct {
	Code   int            // exit status; 128+n after signal n
	Signal syscall.Signal // 0 unless a signal ended it
	Why    string         // why the jail ended it, because it could no longer enforce the policy; else ""
}
