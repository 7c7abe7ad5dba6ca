package diagnostics

import (
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Evidence is everything that is known about one failure. Only Stage and Server
// are required; what is missing is not guessed, it only makes the diagnosis
// weaker.
type Evidence struct {
	Stage  Stage
	Server string
	Tool   string // the tool that was called; "" outside of a call
	Method string // the request that failed: "tools/list", "tools/call"; "" when none did

	// Profile is what the server ran under. Without it nothing can be Likely.
	Profile *policy.Profile
	// InPlace: the server was given as `run -- COMMAND`; advice is then made of
	// flags, since there is no file to add a line to.
	FromCommandLine bool
	// Line are the words by which the client starts such a server: mcp-jail, run, flags,
	// --, the command. Declare makes the lines that declare it in a configuration, flags
	// included. nil: not known, and then no new line is told.
	CommandLine []string
	Declare     func() []string
	// Stateless: every call has a process of its own. Profile.Tool says which
	// tool's; with "" it is the discovery process, which no table can grant to.
	Stateless bool

	Started bool          // of StageBoot: it answers, and has complained on stderr
	Start   *Start        // the program could not be started
	Exit    *Exit         // the process ended
	Timeout time.Duration // the limit that passed; 0 when the failure is no time-out

	Stderr []string // the last lines of the server's stderr, oldest first; best those since the request
	// Heard is Stderr with its secrets, for the judge alone: none of it is shown. nil is
	// Stderr itself. A value taken out in the middle of a path would leave no path.
	RawStderr []string
	// Text is the error message, or the text of the error result, of the failing
	// request. "" in a call with Denials and nothing else: the call went well, and
	// the jail refused something during it.
	Text string

	Denials []Denial // what the jail recorded, oldest first
	// Redactor takes out what nobody is to see. nil is one that knows the secret
	// variables of Profile.
	Redactor *Redactor
	Unset    []string // names that are granted but not set on the host
	Roots    []string // directories that the client gave the server as its roots; nil: none that are known

	UserHome string // the user's home, so that paths are written with ~/; "" when unknown
	// SearchPath is the PATH of mcp-jail itself. The server's own holds only what
	// the jail shows, so it does not tell where a missing program would be.
	SearchPath string
	// Exists tells whether a path exists on the host, outside of the jail; with "/."
	// behind it, whether it is a directory. nil: could not be asked, and then nothing
	// is concluded from a "no such file".
	Exists func(path string) bool
	// Executable tells whether the host would start a file: it has an execute bit. nil:
	// could not be asked, and then it is taken to have one.
	Executable func(path string) bool
	// Canonical resolves the symbolic links of a path on the host, also of one
	// whose last components do not exist. nil: paths are taken as they are.
	Canonical func(path string) string
}

// Start says why the jail or the program in it could not be started. Its fields
// are those of confine.StartError, so that one converts to the other.
type Start struct {
	Step   string        // StepExec, or the part of the jail that failed
	Errno  syscall.Errno // 0 when the kernel was not the one to refuse
	Detail string        // the path or argument that the step worked on; without an Errno, why it failed
}

// StepExec is the only step that concerns the program rather than the jail.
const StepExec = "exec"

// Exit is how a process ended. Its fields are those of confine.Exit.
type Exit struct {
	Code   int            // exit status; 128+n after signal n
	Signal syscall.Signal // 0 unless a signal ended it
	Why    string         // why the jail ended it, which could not go on as promised; "" otherwise
}

// redactor is the Redactor that there is.
func (ev *Evidence) redactor() *Redactor {
	switch {
	case ev.Redactor != nil:
		return ev.Redactor
	case ev.Profile != nil:
		return NewRedactor(ev.Profile.Env)
	}
	return nil
}
