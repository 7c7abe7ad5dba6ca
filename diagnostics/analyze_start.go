package diagnostics

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/mcp-jail/mcp-jail/policy"
)

// buildFixes: what is too little where a jail cannot be built is outside of the jail.
var buildFixes = map[syscall.Errno]string{
	syscall.EMFILE:       "raise the limit of open files (ulimit -n): building a jail takes one for each path that is hidden or protected in what the policy grants, or grant less",
	syscall.ENFILE:       "the whole system has too many open files (fs.file-max)",
	syscall.EAGAIN:       "raise the limits of processes (ulimit -u) and of open files (ulimit -n), or end some of what runs",
	syscall.ENOMEM:       "free memory, or raise its limits (ulimit -v, -d, the cgroup's)",
	syscall.ETOOMANYREFS: "a program of the same user has as many descriptors under way in its sockets as this one may have open: end it, or raise the limit of open files (ulimit -H -n) beyond `open_files` of the other servers together",
	syscall.EFBIG:        "raise the limit of the size of files (ulimit -f)",
}

// stepFixes: where the building of some part fails, and not for want of something.
var stepFixes = map[string]string{
	"requests": "correct the `secret` of the rule, or what it is read from; if it is mcp-jail-tls that does not start, see `mcp-jail doctor`",
}

// BuildFix is what to do where a shortage of the host keeps a jail from being built; ""
// where err is none.
func BuildFix(err error) string {
	var errno syscall.Errno
	errors.As(err, &errno)
	return buildFixes[errno]
}

// buildFix is what to do where a jail could not be built.
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
	return "make it yourself, or leave out the / at the end of the rule, with which it asks for it"
}

// analyzeStart judges a program that was not started. The step and the errno are facts
// of the shim; whether the jail is behind them follows from the profile.
func (a *analyzer) analyzeStart(s Start) finding {
	detail := s.Detail
	switch {
	case s.Errno == 0 && detail != "": // a sentence, not a place
		detail = ": " + sanitize(detail)
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
		return finding{
			note: "there is no program " + a.show(program) + " on this host",
			fix:  "install it, or correct `command`",
		}
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
		// The file is there, so the kernel missed what it names: the interpreter of
		// its first line or its loader. That may be outside of the jail's view.
		f := finding{hint: Hint{Attribution: Possible}}
		f.note = a.show(program) + " exists, but the interpreter or loader that it names was not found in the jail"
		f.fix = "see its first line, and grant that program with read and execute"
		return f
	case s.Errno == syscall.ENOEXEC:
		return finding{
			note: a.show(program) + " is no program for this machine, or a script without a #! line",
			fix:  "start it by its interpreter",
		}
	}
	return finding{note: "the program could not be started" + detail}
}
