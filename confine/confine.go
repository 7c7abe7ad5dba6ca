package confine

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Gap is something that the profile asks for and this host (or this version)
// cannot enforce. A gap refuses the start unless its axis is waived by name.
type Gap struct {
	Axis   policy.Axis `json:"axis"`
	What   string      `json:"what"`   // what does not hold: "host allow-list (api.github.com)"
	Why    string      `json:"why"`    // the missing kernel feature, setting, or conflicting rules
	Fix    string      `json:"fix"`    // what the user can do about it
	Fatal  bool        `json:"fatal"`  // true: cannot be waived, there is nothing to start with
	Waived bool        `json:"waived"` // set by the launcher
	// Paths are all that What stands for, where it names only the first.
	Paths []string `json:"paths,omitempty"`
}

// Enforcement is one thing that holds, and by which mechanism.
type Enforcement struct {
	Axis policy.Axis `json:"axis"`
	What string      `json:"what"` // "only the listed paths exist"
	By   string      `json:"by"`   // "mount namespace, Landlock ABI 7"
}

// Denial is a refusal that the jail recorded.
type Denial = policy.Denial

// ErrGaps is in the chain of every refusal because of a gap.
var ErrGaps = errors.New("this host cannot enforce the policy")

// GapError refuses a start. It lists the gaps that are not waived.
type GapError struct {
	Gaps []Gap
	// Bare is that of the Plan: with the answer No, the one cause of most gaps is
	// that user namespaces are refused.
	Bare Feature
	// Waive are the axes that have to be waived for a start, those that are waived
	// already among them; nil where a gap cannot be.
	Waive []policy.Axis
}

func (e *GapError) Error() string {
	var b strings.Builder
	b.WriteString(ErrGaps.Error())
	if e.Bare.Answer == No {
		fmt.Fprintf(&b, ": user namespaces are refused: %s\n  %s\nwithout them this does not hold:", e.Bare.Detail, e.Bare.Fix)
	}
	for _, g := range e.Gaps {
		fmt.Fprintf(&b, "\n  %s: %s: %s", g.Axis, g.What, g.Why)
		if g.Fix != "" && g.Fix != FixNamespaces {
			fmt.Fprintf(&b, "\n    %s", g.Fix)
		}
	}
	if e.Bare.Answer == No && e.Waive != nil {
		fmt.Fprintf(&b, "\n%s", WaiveLine(e.Waive))
	}
	return b.String()
}

// FixNamespaces is the Fix of gaps that user namespaces would close. How they are
// allowed, Plan.Bare and GapError.Bare say.
const FixNamespaces = "allow user namespaces (mcp-jail doctor says how)"

// WaiveLine says how all gaps of some axes are accepted.
func WaiveLine(axes []policy.Axis) string {
	var flags, names []string
	for _, a := range axes {
		flags, names = append(flags, "--waive "+string(a)), append(names, strconv.Quote(string(a)))
	}
	return "to start it all the same, and accept all of this:  waive = [" + strings.Join(names, ", ") + "]  (" + strings.Join(flags, " ") + ")"
}

func (e *GapError) Unwrap() error { return ErrGaps }

// StartError says that the jail could not be built or the program in it could
// not be started. Step names the part: everything but StepExec is a failure of
// confinement; StepExec is a failure of the program (missing, not executable,
// wrong format, its interpreter is missing). An upgrade of the host that replaces a file
// between policy.Resolve and Start is such a failure: a caller resolves again, and starts
// what it got if the Key of the profile is another one and what its rules name is not.
type StartError struct {
	Step   string        // "namespaces", "mounts", "landlock", …, StepExec
	Errno  syscall.Errno // 0 when the kernel was not the one to refuse
	Detail string        // the path or argument that the step worked on; without an Errno, why it failed
}

// StepExec is the only step of a StartError that concerns the program rather
// than the jail.
const StepExec = "exec"

func (e *StartError) Error() string {
	s := "step " + e.Step + " failed"
	if e.Step == StepExec {
		s = "the program could not be started"
	}
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	if e.Errno != 0 {
		s += ": " + e.Errno.Error()
	}
	return s
}

func (e *StartError) Unwrap() error {
	if e.Errno == 0 {
		return nil
	}
	return e.Errno
}

// Stdio is what the program gets as its first three descriptors. A nil file is
// /dev/null. The launcher does not close them.
type Stdio struct{ In, Out, Err *os.File }

// Remark is what a jail says of itself while its server runs, which goes on.
type Remark struct {
	Text    string
	Warning bool // something that was granted does not work; otherwise it is for a log
}

// Exit is how a program ended.
type Exit struct {
	Code   int            // exit status; 128+n after signal n
	Signal syscall.Signal // 0 unless a signal ended it
	Why    string         // why the jail ended it, which could not go on as promised; "" otherwise
}
