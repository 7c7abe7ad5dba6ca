package starts

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/words"
	"github.com/mcp-jail/mcp-jail/internal/launcher"
	"github.com/mcp-jail/mcp-jail/internal/lazy"
	"github.com/mcp-jail/mcp-jail/policy"
)

// MissingPackage recognises that a package is not installed, and that its launcher has no network
// to fetch it. No rule for a host is proposed: it would hold in each session, where one
// installation is enough.
func MissingPackage(c *facts.Case, lines []string) (f facts.Finding, ok bool) {
	if c.Evidence.Stage != report.StageStartup || c.Evidence.Started || len(c.Profile.Argv) == 0 {
		return f, false
	}
	foreign, isForeign := foreignLauncher(c)
	name := fetched(c.Profile.Argv)
	switch {
	case c.Evidence.Install == "" && name == "" && !isForeign, !lacksNetwork(c, foreign, lines):
		return f, false
	case isForeign:
		return foreignFinding(foreign), true
	case c.Evidence.Install != "":
		return facts.Finding{
			Note: "the package that " + filepath.Base(c.Profile.Argv[0]) + " starts is not installed, and no host is allowed from which it could come",
			Fix:  "install it once, in a terminal: " + c.Evidence.Install,
		}, true
	}
	f = facts.Finding{
		Note: name + " downloads what it runs, and no host is allowed",
		Fix:  "install the package ahead of time, and start its program in place of " + name,
	}
	if fetches(c.Profile.Argv) == "" {
		f.Fix = "write the line so that it begins with " + name + ", and mcp-jail fetches the package itself: a directory belongs into the client's entry (cwd), and a variable into its env"
	}
	return f, true
}

// Compiling recognises a launcher whose compiler has not ended when the start is timed out.
func Compiling(c *facts.Case) (f facts.Finding, ok bool) {
	if c.Evidence.Stage != report.StageStartup || c.Evidence.Started || c.Evidence.Timeout == 0 || len(c.Profile.Argv) == 0 {
		return f, false
	}
	l, ok := foreignLauncher(c)
	if !ok || !l.Compiles() || slices.ContainsFunc(c.Evidence.Denials, byLauncher(l)) {
		return f, false
	}
	return facts.Finding{
		Note: l.Name + " compiles at the first start in the jail, which has a cache of its own, and that has not ended in time",
		Fix:  report.Joined(lowerFirst(l.Instead), TimeoutHint(c, "to compile in the jail")),
	}, true
}

// lacksNetwork reports whether a launcher tried the network and was refused, or still waits for it.
// Where the policy grants hosts, a refused registry shows that it was the launcher.
func lacksNetwork(c *facts.Case, foreign launcher.Launcher, lines []string) bool {
	switch {
	case slices.ContainsFunc(c.Evidence.Denials, byLauncher(foreign)), foreign.Project && slices.ContainsFunc(lines, lacksModule):
		return true
	case slices.ContainsFunc(c.Profile.Net, func(r policy.NetRule) bool { return r.Allow }):
		return false
	}
	tried := slices.ContainsFunc(lines, func(line string) bool { fault, _ := words.MatchFault(line); return fault == words.Network })
	return tried || c.Evidence.Timeout != 0 || slices.ContainsFunc(c.Evidence.Denials, func(d policy.Denial) bool { return d.Axis == policy.AxisNet })
}

// byLauncher reports whether a refusal is that of a launcher, before it has started the server.
func byLauncher(l launcher.Launcher) func(policy.Denial) bool {
	return func(d policy.Denial) bool { return l.Refused(d.Program, d.Target, d.Axis == policy.AxisNet) }
}

func lacksModule(line string) bool {
	return strings.HasPrefix(line, "ModuleNotFoundError: No module named ")
}

func foreignFinding(l launcher.Launcher) facts.Finding {
	return facts.Finding{
		Note: l.Name + " " + l.Does + ", and the policy grants no network for that",
		Fix:  lowerFirst(l.Instead),
	}
}

func lowerFirst(text string) string { return strings.ToLower(text[:1]) + text[1:] }

// foreignLauncher returns a launcher that the server's line starts, and in whose place mcp-jail
// fetches nothing.
func foreignLauncher(c *facts.Case) (l launcher.Launcher, ok bool) {
	if c.Evidence.Install != "" {
		return l, false
	}
	if l, ok = launcher.Of(c.Profile.Argv); ok {
		return l, true
	}
	eachInner(c.Profile.Argv, func(words []string) bool {
		l, ok = launcher.Of(words)
		return ok
	})
	return l, ok
}

// eachInner calls is with each end of a line that could be a command of its own, until that is true.
// It leaves out the arguments of an interpreter, which are those of its script.
func eachInner(argv []string, is func(words []string) bool) {
	if outer := filepath.Base(argv[0]); policy.InterpreterFamily(outer) != "" && !policy.IsShell(outer) {
		return
	}
	for i, arg := range argv[1:] {
		words := append(strings.Fields(arg), argv[i+2:]...) // sh -c 'npx x', env -S 'npx x'
		for k := range strings.Fields(arg) {
			if is(words[k:]) {
				return
			}
		}
	}
}

// fetched returns the launcher of packages with which a line, or what another program starts of it,
// begins, or "".
func fetched(argv []string) (name string) {
	if name = fetches(argv); name == "" {
		eachInner(argv, func(words []string) bool {
			name = fetches(words)
			return name != ""
		})
	}
	return name
}

// fetches returns the launcher with which a line begins, or "".
func fetches(words []string) string {
	second := ""
	if len(words) > 1 {
		second = words[1]
	}
	switch name := filepath.Base(words[0]); {
	case slices.Contains([]string{"npx", "pnpx", "bunx", "uvx", "pipx"}, name) && len(words) > 1:
		return name
	case name == "npm" && (second == "exec" || second == "x"), (name == "pnpm" || name == "yarn") && second == "dlx", name == "bun" && second == "x", name == "uv" && second == "tool":
		return name + " " + second
	}
	return ""
}

// unbuilt matches what programs say when a part is missing that an install script compiles or
// downloads.
var unbuilt = lazy.Regexp(`(?i)bindings file|\.node['"]?: |cannot find module '[^']*\.node'|node-gyp|prebuil[dt]|post-?install|install script`)

// SkippedScripts recognises that a package needs its install scripts, which were skipped.
func SkippedScripts(c *facts.Case, lines []string) (f facts.Finding, ok bool) {
	if c.Evidence.InstallScripts == "" || !slices.ContainsFunc(lines, unbuilt().MatchString) {
		return f, false
	}
	return facts.Finding{
		Note: "the package brings scripts for its installation that make or fetch a part of it, and they did not run",
		Fix:  "run them once, in a jail without a network: " + c.Evidence.InstallScripts,
	}, true
}
