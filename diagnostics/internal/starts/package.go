package starts

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/internal/lazy"
	"github.com/mcp-jail/mcp-jail/policy"
)

// MissingPackage recognises that a package is not installed, and that its launcher has no network
// to fetch it. No rule for a host is proposed: it would hold in each session, where one
// installation is enough.
func MissingPackage(c *facts.Case, lines []string) (f facts.Finding, ok bool) {
	launcher, words := buriedLauncher(c)
	if c.Evidence.Install == "" && launcher == "" || c.Evidence.Stage != report.StageStartup || c.Evidence.Started || len(c.Profile.Argv) == 0 {
		return f, false
	}
	if slices.ContainsFunc(c.Profile.Net, func(r policy.NetRule) bool { return r.Allow }) {
		return f, false
	}
	// It tried the network and was refused, or still waits.
	tried := slices.ContainsFunc(lines, func(line string) bool { fault, _ := said.MatchFault(line); return fault == said.Network }) ||
		slices.ContainsFunc(c.Evidence.Denials, func(d policy.Denial) bool { return d.Axis == policy.AxisNet })
	if !tried && c.Evidence.Timeout == 0 {
		return f, false
	}
	name := filepath.Base(c.Profile.Argv[0])
	if launcher != "" {
		return facts.Finding{
			Note: launcher + " downloads what it runs, and the policy grants no network; mcp-jail installs the package itself where the line begins with " + launcher + ", and this one begins with " + c.Quote(name),
			Fix:  "write the line without " + c.Quote(name) + ": " + c.Quote(words) + "; a directory belongs into the client's entry (cwd), and a variable into its env",
		}, true
	}
	return facts.Finding{
		Note: "the package that " + name + " starts is not installed, and the policy grants no network to fetch it",
		Fix:  "install it once, in a terminal: " + c.Evidence.Install + ". The server then starts without " + name + " and without a network",
	}, true
}

// buriedLauncher returns a launcher of packages that the server's line starts through another program,
// such as timeout, env -C or a shell, and the line that begins with it. mcp-jail takes no such line
// apart. It returns "" for any other line.
func buriedLauncher(c *facts.Case) (launcher, line string) {
	argv := c.Profile.Argv
	if len(argv) < 2 || c.Evidence.Install != "" || fetches(argv) != "" {
		return "", ""
	}
	if outer := filepath.Base(argv[0]); policy.InterpreterFamily(outer) != "" && !policy.IsShell(outer) {
		return "", "" // a script's own arguments
	}
	for i, arg := range argv[1:] {
		words := append(strings.Fields(arg), argv[i+2:]...) // sh -c 'npx x', env -S 'npx x'
		for k := range strings.Fields(arg) {
			if name := fetches(words[k:]); name != "" {
				return name, strings.Join(words[k:], " ")
			}
		}
	}
	return "", ""
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

// BrowserSandbox recognises the messages of Chromium that it cannot build its own sandbox.
func BrowserSandbox(lines []string) (f facts.Finding, ok bool) {
	words := []string{"no usable sandbox", "sandboxing failed", "failed to move to new namespace", "without --no-sandbox"}
	if !slices.ContainsFunc(lines, func(line string) bool { return said.ContainsAny(strings.ToLower(line), words) }) {
		return f, false
	}
	return facts.Finding{
		Note: "a browser cannot build its own sandbox in the jail, which refuses user namespaces",
		Fix:  "start the browser with --no-sandbox (Playwright: chromiumSandbox = false), since the jail is around it, and with --headless, since the jail has no display",
		Hint: report.Hint{Explain: report.PageBrowser},
	}, true
}

// packageRunners returns the programs that download what they run, each with the command
// that prints the host that it asks. Without a network they stay silent for a minute and
// then report little.
func packageRunners() map[string]string {
	return map[string]string{
		"npx": "npm config get registry", "npm": "npm config get registry", "pnpm": "pnpm config get registry",
		"pnpx": "pnpm config get registry", "yarn": "yarn config get registry", "bunx": "npm config get registry",
		"uvx": "", "uv": "", "pipx": "pip config get global.index-url",
	}
}

// PackageDownload recognises a package runner without a network.
func PackageDownload(c *facts.Case) (f facts.Finding, ok bool) {
	if len(c.Profile.Argv) == 0 {
		return f, false
	}
	name := filepath.Base(c.Profile.Argv[0])
	ask, fetches := packageRunners()[name]
	networked := slices.ContainsFunc(c.Profile.Net, func(r policy.NetRule) bool { return r.Allow })
	if !fetches || networked || c.Evidence.Stage == report.StageCall {
		return f, false
	}
	fix := "install the package ahead of time and start its program instead of " + name + ", or run it once with --net '*' to fill its cache"
	if ask != "" {
		fix += " (the host that it asks is the one that `" + ask + "` prints)"
	}
	return facts.Finding{Note: name + " downloads what it runs, and the policy grants no network", Fix: fix, Hint: report.Hint{Explain: report.PagePackageMissing}}, true
}
