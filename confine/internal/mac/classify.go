package mac

import (
	"strconv"
	"strings"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
)

// The steps of a start that can fail, besides those that every start has.
const (
	stepApply       = "apply"        // sandbox-exec applies the profile
	stepReady       = "ready"        // the program inside gets ready
	stepNotEnforced = "not enforced" // the profile must refuse a signal to the launcher
	stepPrivate     = "private directory"
)

// Ended is how sandbox-exec, or the program inside, ended before that was ready.
type Ended struct {
	Code   int            // its status
	Signal syscall.Signal // 0 unless a signal ended it
	Said   string         // what it wrote to stderr
}

// Statuses of sandbox-exec. The second stands for two failures, which its words tell apart.
const (
	statusRefusedText = 65
	statusNotApplied  = 71
	statusAborted     = 128 + int(syscall.SIGABRT)
)

// classify returns the error of a start whose program inside never became ready.
func classify(e Ended) *sys.Error {
	said := lastLine(e.Said)
	switch {
	case e.Code == statusRefusedText:
		return &sys.Error{
			Step: stepApply, Detail: "sandbox-exec refuses the text of the profile" + quoted(said) + ": this version of macOS knows other rules than mcp-jail expects",
			Fix: "report this with the output of `mcp-jail doctor`, which tests what this macOS knows",
		}
	case e.Code == statusNotApplied && strings.Contains(e.Said, "sandbox_apply"):
		return &sys.Error{
			Step: stepApply, Detail: "mcp-jail runs inside another sandbox, and macOS applies no second one" + quoted(said),
			Fix: "start mcp-jail outside that sandbox: a client that confines its servers itself (VS Code, Codex, srt, or an app) must leave that to mcp-jail",
		}
	case e.Code == statusNotApplied && strings.Contains(e.Said, "execvp"):
		return &sys.Error{
			Step: stepApply, Detail: "sandbox-exec cannot start mcp-jail's own program under the profile" + quoted(said),
			Fix: "check that the file is still there and that you may execute it",
		}
	case e.Code == statusNotApplied:
		return &sys.Error{Step: stepApply, Detail: "sandbox-exec does not apply the profile" + quoted(said)}
	case e.Signal == syscall.SIGABRT, e.Code == statusAborted:
		return &sys.Error{
			Step: stepReady, Detail: "the first program inside was aborted" + quoted(said) + ": macOS does so when the profile lacks a path or a call that each program needs",
			Fix: "report this with the output of `mcp-jail doctor`",
		}
	case e.Signal != 0:
		return &sys.Error{Step: stepReady, Detail: "signal " + strconv.Itoa(int(e.Signal)) + " (" + e.Signal.String() + ") ended the first program inside" + quoted(said)}
	}
	return &sys.Error{Step: stepReady, Detail: "the first program inside ended with status " + strconv.Itoa(e.Code) + quoted(said)}
}

// lastLine returns the last line that is not empty.
func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// maxSaid is how much of a line an error repeats.
const maxSaid = 300

func quoted(said string) string {
	if said == "" {
		return ""
	}
	if len(said) > maxSaid {
		said = strings.ToValidUTF8(said[:maxSaid], "") + "…"
	}
	return " (" + strconv.Quote(said) + ")"
}
