package diagnostics

import (
	"path/filepath"
	"slices"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/internal/lazy"
	"github.com/mcp-jail/mcp-jail/policy"
)

// missingPackage recognises that a package is not installed, and that its launcher has no network
// to fetch it. No rule for a host is proposed: it would hold in each session, where one
// installation is enough.
func (a *analyzer) missingPackage(lines []string) (f finding, ok bool) {
	if a.ev.Install == "" || a.ev.Stage != StageStartup || a.ev.Started || len(a.profile.Argv) == 0 {
		return f, false
	}
	if slices.ContainsFunc(a.profile.Net, func(r policy.NetRule) bool { return r.Allow }) {
		return f, false
	}
	tried := slices.ContainsFunc(lines, func(line string) bool { fault, _ := said.MatchFault(line); return fault == said.Network }) ||
		slices.ContainsFunc(a.ev.Denials, func(d policy.Denial) bool { return d.Axis == policy.AxisNet })
	if !tried && a.ev.Timeout == 0 {
		return f, false
	}
	name := filepath.Base(a.profile.Argv[0])
	return finding{
		note: "the package that " + name + " starts is not installed, and the policy grants no network to fetch it",
		fix:  "install it once, in a terminal: " + a.ev.Install + ". The server then starts without " + name + " and without a network",
	}, true
}

// unbuilt matches what programs say when a part is missing that an install script compiles or
// downloads.
var unbuilt = lazy.Regexp(`(?i)bindings file|\.node['"]?: |cannot find module '[^']*\.node'|node-gyp|prebuil[dt]|post-?install|install script`)

// skippedScripts recognises that a package needs its install scripts, which were skipped.
func (a *analyzer) skippedScripts(lines []string) (f finding, ok bool) {
	if a.ev.InstallScripts == "" || !slices.ContainsFunc(lines, unbuilt().MatchString) {
		return f, false
	}
	return finding{
		note: "the package brings scripts for its installation that make or fetch a part of it, and they did not run",
		fix:  "run them once, in a jail without a network: " + a.ev.InstallScripts,
	}, true
}
