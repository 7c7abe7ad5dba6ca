package diagnostics

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// buildFixes holds the remedies for shortages of the host that prevent the building of a
// jail.
var buildFixes = map[syscall.Errno]string{
	syscall.EMFILE:       "raise the limit of open files (ulimit -n), or grant less: building a jail needs one for each path that is hidden or protected inside of a grant",
	syscall.ENFILE:       "the whole system has too many open files (fs.file-max)",
	syscall.EAGAIN:       "raise the limits of processes (ulimit -u) and of open files (ulimit -n), or end some processes",
	syscall.ENOMEM:       "free memory, or raise its limits (ulimit -v, -d, the cgroup's)",
	syscall.ETOOMANYREFS: "a program of the same user has as many descriptors in flight in its sockets as this process may have open: end that program, or raise the limit of open files (ulimit -H -n) above the sum of `open_files` of the other servers",
	syscall.EFBIG:        "raise the limit of the size of files (ulimit -f)",
}

// stepFixes holds the remedies for steps that fail for reasons other than a shortage.
var stepFixes = map[string]string{
	"requests": "where the error is about a secret, correct the `secret` of the rule or its source; if mcp-jail-tls does not start, run `mcp-jail doctor`",
}

// BuildFix returns the remedy for a shortage of the host that prevents the building of a
// jail, or "" for other errors.
func BuildFix(err error) string {
	var errno syscall.Errno
	errors.As(err, &errno)
	return buildFixes[errno]
}

// buildFix returns the remedy for a jail that could not be built.
func (a *analyzer) buildFix(s Start) string {
	if fix, known := buildFixes[s.Errno]; known {
		return fix
	}
	if fix, known := stepFixes[s.Step]; known {
		return fix
	}
	switch at, _, _ := strings.Cut(s.Detail, " ("); {
	case s.Step != "create directory":
		return "run `mcp-jail doctor`"
	case a.profile.HomePrivate && at == a.profile.Home:
		return "set XDG_STATE_HOME to a directory of yours, or home = \"real\" (--home real)"
	}
	return "create it yourself, or remove the / at the end of the rule, which asks mcp-jail to create it"
}

// analyzeStart analyzes a program that was not started. Step and errno are facts. Whether
// the jail is the reason follows from the profile.
func (a *analyzer) analyzeStart(s Start) finding {
	detail := s.Detail
	switch {
	case s.Errno == 0 && detail != "": // the detail is a sentence and not a path
		detail = ": " + show.Line(detail)
	case s.Errno != 0 && detail != "":
		detail = " at " + a.quote(detail) + ": " + s.Errno.Error()
	case s.Errno != 0:
		detail = ": " + s.Errno.Error()
	}
	if s.Step != StepExec {
		f := a.attribute(Certain, policy.AxisProcess, s.Step, "jail", "the jail could not be built: the step "+a.quote(s.Step)+" failed"+detail, grant{})
		f.fix = a.buildFix(s)
		return f
	}
	program := a.profile.Program
	if path, ok := a.absolute(s.Detail); ok && filepath.IsAbs(s.Detail) {
		program = path
	}
	if program == "" {
		return finding{note: "the program could not be started" + detail}
	}
	program = a.canonical(program)
	executable := a.rightsAt(program).Has(policy.Execute)
	unlisted := a.profile.Programs != nil && !a.isListed(filepath.Base(program))
	switch {
	case a.exists(program) == absent:
		fix := "install it, or correct `command`"
		if a.ev.FromCommandLine {
			fix = "install it, or correct its name behind `--`"
		}
		return finding{note: "there is no program " + a.show(program) + " on this host", fix: fix}
	case !executable && a.ev.Profile != nil:
		f := a.attributePath(Certain, program, policy.Execute, false, "the policy does not let the server execute "+a.show(program))
		f.hint.Axis = policy.AxisProcess
		return f
	case unlisted && errors.Is(s.Errno, fs.ErrPermission):
		return a.attributeCommand(Certain, filepath.Base(program), "the policy's commands do not list "+a.show(program))
	case errors.Is(s.Errno, fs.ErrPermission):
		return finding{
			note: a.show(program) + " is not executable" + detail,
			fix:  "make it executable (chmod +x)",
		}
	case errors.Is(s.Errno, fs.ErrNotExist):
		// The file exists, so the kernel did not find its interpreter or its loader.
		// The jail may hide those.
		f := finding{hint: Hint{Attribution: Possible}}
		f.note = a.show(program) + " exists, but its interpreter or loader was not found in the jail"
		f.fix = "grant the program in its first line with read and execute"
		return f
	case s.Errno == syscall.ENOEXEC:
		return finding{
			note: a.show(program) + " is not a program for this machine, or is a script without a #! line",
			fix:  "start it by its interpreter",
		}
	}
	return finding{note: "the program could not be started" + detail}
}
