package starts

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/words"
	"github.com/mcp-jail/mcp-jail/internal/lazy"
	"github.com/mcp-jail/mcp-jail/internal/wrapper"
	"github.com/mcp-jail/mcp-jail/policy"
)

// MissingPackage recognises that the line of a launcher runs as it is given, and has no network to fetch what
// it starts. No rule for a host is proposed: it would hold in each session, where one installation is enough.
func MissingPackage(c *facts.Case, lines []string) (f facts.Finding, ok bool) {
	if c.Evidence.Stage != report.StageStartup || c.Evidence.Started {
		return f, false
	}
	line, _ := wrapper.Unwrap(c.Profile.Argv)
	l, _ := wrapper.LauncherOf(line.Inner)
	if l.Does == "" || !lacksNetwork(c, l, lines) {
		return f, false
	}
	return facts.Finding{
		Note: l.Name + " " + l.Does + ", and the policy grants no network for that",
		Fix:  strings.ToLower(l.Instead[:1]) + l.Instead[1:],
	}, true
}

// lacksNetwork reports whether a launcher tried the network and was refused, or still waits for it. Where the
// policy grants hosts, the program that was refused shows that it was the launcher.
func lacksNetwork(c *facts.Case, l wrapper.Launcher, lines []string) bool {
	switch {
	case slices.ContainsFunc(c.Evidence.Denials, refusedTo(l)), l.Local && slices.ContainsFunc(lines, lacksModule):
		return true
	case slices.ContainsFunc(c.Profile.Net, func(r policy.NetRule) bool { return r.Allow }):
		return false
	}
	tried := slices.ContainsFunc(lines, func(line string) bool { fault, _ := words.MatchFault(line); return fault == words.Network })
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
