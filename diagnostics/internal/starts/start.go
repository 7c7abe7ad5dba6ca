package starts

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/grants"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/names"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/paths"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
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
	noRoomForCode:        "end the program that attaches so many filters, or raise the limit of the room that all users share for them (sysctl net.core.bpf_jit_limit)",
	syscall.E2BIG:        "start mcp-jail less deep inside other sandboxes: the kernel allows 16 Landlock domains inside each other",
}

// noRoomForCode is the errno with which the kernel refuses a filter that it cannot compile (ENOTSUPP, which has no
// name in C).
const noRoomForCode syscall.Errno = 524

// errnoText says what the kernel answered.
func errnoText(errno syscall.Errno) string {
	if errno == noRoomForCode {
		return "the kernel has no room for another compiled filter"
	}
	return errno.Error()
}

// macBuildFixes are those of macOS.
var macBuildFixes = map[syscall.Errno]string{
	syscall.EMFILE: "raise the limit of open files (ulimit -n)",
	syscall.ENFILE: "the whole system has too many open files: end some programs",
	syscall.EAGAIN: buildFixes[syscall.EAGAIN],
	syscall.ENOMEM: "free memory",
	syscall.EFBIG:  buildFixes[syscall.EFBIG],
	syscall.E2BIG:  "the arguments and variables of the server are too long together: give it fewer or shorter ones",
}

// windowsFixes are what helps against errors of Windows with which a program does not start.
var windowsFixes = map[syscall.Errno]string{
	5:   "see whether you may execute it, and whether a virus scanner or a rule of your organisation keeps it from starting",
	193: "it is no program for this machine: write its interpreter before it, such as node or python",
	740: "it asks for the rights of an administrator, which no server in a jail has: take one that does not",
}

func windowsFix(c *facts.Case, errno syscall.Errno) string {
	if !c.Windows() {
		return ""
	}
	return windowsFixes[errno]
}

func shortageFix(errno syscall.Errno, mac bool) string {
	if mac {
		return macBuildFixes[errno]
	}
	return buildFixes[errno]
}

// stepFixes holds the remedies for steps that fail for reasons other than a shortage.
var stepFixes = map[string]string{
	"requests": "where the error is about a secret, correct the `secret` of the rule or its source. If mcp-jail-tls does not start, run: mcp-jail doctor",
}

// BuildFix returns the remedy for a shortage of the host that prevents the building of a
// jail, or "" for other errors. The system is named as in Evidence.
func BuildFix(err error, system string) string {
	var errno syscall.Errno
	errors.As(err, &errno)
	return shortageFix(errno, system == "darwin")
}

func buildFix(c *facts.Case, s facts.Start) string {
	if s.Fix != "" {
		return s.Fix
	}
	if fix := shortageFix(s.Errno, c.Mac()); fix != "" {
		return fix
	}
	if fix, known := stepFixes[s.Step]; known {
		return fix
	}
	switch at, _, _ := strings.Cut(s.Detail, " ("); {
	case at == "/dev/null" && !c.Mac():
		return "let the sandbox or container around mcp-jail have its devices (bwrap: --dev-bind /dev /dev)"
	case s.Step != "create directory":
		return "to see why: mcp-jail doctor"
	case c.Profile.HomePrivate && at == c.Profile.Home:
		return "set XDG_STATE_HOME to a directory of yours, or home = \"real\" (--home real)"
	}
	return "create it yourself, or remove the / at the end of the rule, which asks mcp-jail to create it"
}

// Analyze analyzes a program that was not started. Step and errno are facts. Whether
// the jail is the reason follows from the profile.
func Analyze(c *facts.Case, s facts.Start) facts.Finding {
	detail := s.Detail
	switch {
	case s.Errno == 0 && detail != "": // the detail is a sentence and not a path
		detail = ": " + show.Line(detail)
	case s.Errno != 0 && detail != "":
		detail = " at " + c.Quote(detail) + ": " + errnoText(s.Errno)
	case s.Errno != 0:
		detail = ": " + errnoText(s.Errno)
	}
	if s.Step != facts.StepExec {
		f := facts.Refused(report.Certain, policy.AxisProcess, s.Step, "jail", "the jail could not be built: the step "+c.Quote(s.Step)+" failed"+detail, grants.Grant{})
		f.Fix = buildFix(c, s)
		return f
	}
	program := c.Profile.Program
	if path, ok := c.Absolute(s.Detail); ok && filepath.IsAbs(s.Detail) {
		program = path
	}
	if program == "" || c.Windows() && c.Exists(program) != facts.Absent {
		return facts.Finding{Note: "the program could not be started" + detail, Fix: windowsFix(c, s.Errno)}
	}
	program = c.Canonical(program)
	// From here on the step was exec, and its errno has a reason: the file, the policy or the loader.
	executable := c.RightsAt(program).Has(policy.Execute)
	unlisted := c.Profile.Programs != nil && !names.IsListed(c, filepath.Base(program))
	switch {
	case c.Exists(program) == facts.Absent:
		fix := "install it, or correct `command`"
		if c.Evidence.FromCommandLine {
			fix = "install it, or correct its name after `--`"
		}
		return facts.Finding{Note: "there is no program " + c.Show(program) + " on this machine", Fix: fix}
	case !executable && c.Evidence.Profile != nil:
		f := paths.Attribute(c, report.Certain, program, policy.Execute, false, "the policy does not let the server execute "+c.Show(program))
		f.Hint.Axis = policy.AxisProcess
		return f
	case unlisted && errors.Is(s.Errno, fs.ErrPermission):
		return names.AttributeProgram(c, report.Certain, filepath.Base(program), "the policy's commands do not list "+c.Show(program))
	case errors.Is(s.Errno, fs.ErrPermission):
		return facts.Finding{
			Note: c.Show(program) + " is not executable" + detail,
			Fix:  "make it executable (chmod +x)",
		}
	case errors.Is(s.Errno, fs.ErrNotExist):
		// The file exists, so the kernel did not find its interpreter or its loader.
		// The jail may hide those.
		f := facts.Finding{Hint: report.Hint{Attribution: report.Possible}}
		f.Note = c.Show(program) + " exists, but its interpreter or loader was not found in the jail"
		f.Fix = "grant the program in its first line with read and execute"
		return f
	case s.Errno == syscall.ENOEXEC:
		return facts.Finding{
			Note: c.Show(program) + " is not a program for this machine, or is a script without a #! line",
			Fix:  "start it by its interpreter",
		}
	}
	return facts.Finding{Note: "the program could not be started" + detail}
}
