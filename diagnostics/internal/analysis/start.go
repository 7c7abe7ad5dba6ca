package analysis

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/words"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/wrapper"
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

func windowsFix(c *Case, errno syscall.Errno) string {
	if !c.Windows() {
		return ""
	}
	return windowsFixes[errno]
}

// ShortageFix returns the remedy for a shortage of the host that prevents the building of a jail, or "" for other errors.
func ShortageFix(errno syscall.Errno, mac bool) string {
	if mac {
		return macBuildFixes[errno]
	}
	return buildFixes[errno]
}

// stepFixes holds the remedies for steps that fail for reasons other than a shortage.
var stepFixes = map[string]string{
	"requests": "where the error is about a secret, correct the `secret` of the rule or its source. If mcp-jail-tls does not start, run: mcp-jail doctor",
}

func buildFix(c *Case, s diagnostics.Start) string {
	if s.Fix != "" {
		return s.Fix
	}
	if fix := ShortageFix(s.Errno, c.mac()); fix != "" {
		return fix
	}
	if fix, known := stepFixes[s.Step]; known {
		return fix
	}
	switch at, _, _ := strings.Cut(s.Detail, " ("); {
	case at == "/dev/null" && !c.mac():
		return "let the sandbox or container around mcp-jail have its devices (bwrap: --dev-bind /dev /dev)"
	case s.Step != "create directory":
		return "to see why: mcp-jail doctor"
	case c.Profile.HomePrivate && at == c.Profile.Home:
		return "set XDG_STATE_HOME to one of your directories, or home = \"real\" (--home real)"
	}
	return "create it yourself, or remove the / at the end of the rule, which asks mcp-jail to create it"
}

// AnalyzeStart analyzes a program that was not started. Step and errno are facts. Whether
// the jail is the reason follows from the profile.
func AnalyzeStart(c *Case, s diagnostics.Start) Finding {
	detail := s.Detail
	switch {
	case s.Errno == 0 && detail != "": // the detail is a sentence and not a path
		detail = ": " + show.Line(detail)
	case s.Errno != 0 && detail != "":
		detail = " at " + c.Quote(detail) + ": " + errnoText(s.Errno)
	case s.Errno != 0:
		detail = ": " + errnoText(s.Errno)
	}
	if s.Step != diagnostics.StepExec {
		f := Refused(diagnostics.Certain, policy.AxisProcess, s.Step, "jail", "the jail could not be built: the step "+c.Quote(s.Step)+" failed"+detail, change.Object{})
		f.Fix = buildFix(c, s)
		return f
	}
	program := c.Profile.Program
	if path, ok := c.Absolute(s.Detail); ok && filepath.IsAbs(s.Detail) {
		program = path
	}
	if program == "" || c.Windows() && c.Exists(program) != Absent {
		return Finding{Note: "the program could not be started" + detail, Fix: windowsFix(c, s.Errno)}
	}
	program = c.Canonical(program)
	// From here on the step was exec, and its errno has a reason: the file, the policy or the loader.
	executable := c.rightsAt(program).Has(policy.Execute)
	unlisted := c.Profile.Programs != nil && !isListed(c, filepath.Base(program))
	switch {
	case c.Exists(program) == Absent:
		fix := "install it, or correct `command`"
		if c.Evidence.FromCommandLine {
			fix = "install it, or correct its name after `--`"
		}
		return Finding{Note: "there is no program " + c.Show(program) + " on this machine", Fix: fix}
	case !executable && c.Evidence.Profile != nil:
		f := AttributePath(c, diagnostics.Certain, program, policy.Execute, false, "the policy does not let the server execute "+c.Show(program))
		f.Hint.Axis = policy.AxisProcess
		return f
	case unlisted && errors.Is(s.Errno, fs.ErrPermission):
		return attributeProgram(c, diagnostics.Certain, filepath.Base(program), "the policy's commands do not list "+c.Show(program))
	case errors.Is(s.Errno, fs.ErrPermission):
		return Finding{
			Note: c.Show(program) + " is not executable" + detail,
			Fix:  "make it executable (chmod +x)",
		}
	case errors.Is(s.Errno, fs.ErrNotExist):
		// The file exists, so the kernel did not find its interpreter or its loader.
		// The jail may hide those.
		f := Finding{Hint: diagnostics.Hint{Attribution: diagnostics.Possible}}
		f.Note = c.Show(program) + " exists, but its interpreter or loader was not found in the jail"
		f.Fix = "grant the program in its first line with read and execute"
		return f
	case s.Errno == syscall.ENOEXEC:
		return Finding{
			Note: c.Show(program) + " is not a program for this machine, or is a script without a #! line",
			Fix:  "start it by its interpreter",
		}
	}
	return Finding{Note: "the program could not be started" + detail}
}

// MissingPackage recognises that the line of a launcher runs as it is given, and has no network to fetch what
// it starts. No rule for a host is proposed: it would hold in each session, where one installation is enough.
func MissingPackage(c *Case, lines []string) (f Finding, ok bool) {
	if c.Evidence.Stage != diagnostics.StageStartup || c.Evidence.Started {
		return f, false
	}
	line, _ := wrapper.Unwrap(c.Profile.Argv)
	l, _ := wrapper.LauncherOf(line.Inner)
	if l.Does == "" || !lacksNetwork(c, l, lines) {
		return f, false
	}
	return Finding{
		Note: l.Name + " " + l.Does + ", and the policy grants no network for that",
		Fix:  strings.ToLower(l.Instead[:1]) + l.Instead[1:],
	}, true
}

// lacksNetwork reports whether a launcher tried the network and was refused, or still waits for it. Where the
// policy grants hosts, the program that was refused shows that it was the launcher.
func lacksNetwork(c *Case, l wrapper.Launcher, lines []string) bool {
	switch {
	case slices.ContainsFunc(c.Evidence.Denials, refusedTo(l)), l.Local && slices.ContainsFunc(lines, lacksModule):
		return true
	case slices.ContainsFunc(c.Profile.Net, func(r policy.NetRule) bool { return r.Allow }):
		return false
	}
	tried := slices.ContainsFunc(lines, func(line string) bool { return words.MatchFault(line) == words.Network })
	return tried || c.Evidence.Timeout != 0 || slices.ContainsFunc(c.Evidence.Denials, func(d policy.Denial) bool { return d.Axis == policy.AxisNet })
}

// refusedTo reports whether a refusal is that of a launcher, before it has started the server. A server of deno
// is the same process.
func refusedTo(l wrapper.Launcher) func(policy.Denial) bool {
	program, _, _ := strings.Cut(l.Name, " ")
	return func(d policy.Denial) bool {
		return path.Base(d.Program) == program && program != "deno" && (d.Axis == policy.AxisNet || program == "nix")
	}
}

func lacksModule(line string) bool {
	return strings.HasPrefix(line, "ModuleNotFoundError: No module named ")
}

// unbuilt matches what programs say when a part is missing that an install script compiles or
// downloads.
var unbuilt = show.Pattern(`(?i)bindings file|\.node['"]?: |cannot find module '[^']*\.node'|node-gyp|prebuil[dt]|post-?install|install script`)

// SkippedScripts recognises that a package needs its install scripts, which were skipped.
func SkippedScripts(c *Case, lines []string) (f Finding, ok bool) {
	if c.Evidence.InstallScripts == "" || !slices.ContainsFunc(lines, unbuilt().MatchString) {
		return f, false
	}
	return Finding{
		Note: "the package brings scripts for its installation that make or fetch a part of it, and they did not run",
		Fix:  "run them once, in a jail without a network: " + c.Evidence.InstallScripts,
	}, true
}
