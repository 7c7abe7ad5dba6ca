package diagnostics

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// heuristics returns a possible cause where no refused name was found. It is never more
// than Possible.
func (a *analyzer) heuristics(lines []string) (f finding, ok bool) {
	if f, ok := a.analyzeSignal(); ok {
		return f, true
	}
	if f, ok := browserSandbox(lines); ok {
		return f, true
	}
	if f, ok := a.limitFromText(lines); ok {
		return f, true
	}
	if f, ok := a.crossDevice(lines); ok {
		return f, true
	}
	for _, line := range lines {
		if said.RefusedElsewhere(line) {
			continue
		}
		f, show := said.MatchFault(line)
		switch f {
		case said.NoFault, said.Absent:
			continue
		case said.Network:
			if f, ok := a.packageDownload(); ok {
				return f, true
			}
			cause := a.serverSaid(line) + "; a refusal of the jail looks like this (" + show + "), and so do other faults"
			if a.ev.Profile != nil && len(a.profile.Net) == 0 {
				cause += "; the policy grants no network"
			}
			return finding{note: cause, fix: a.planFix()}, true
		}
		return finding{
			note: a.serverSaid(line) + "; a refusal of the jail looks like this (" + show + "), and so do other faults",
			fix:  a.planFix(),
		}, true
	}
	if args := a.tildeArguments(); args != nil && a.ev.Stage == StageStartup && a.ev.Exit != nil {
		return finding{note: a.tildeText(args), fix: a.tildeFix(args), hint: Hint{Explain: PagePathArg}}, true
	}
	if a.ev.Timeout > 0 || a.ev.Stage == StageStartup && len(lines) == 0 {
		return a.packageDownload()
	}
	return finding{}, false
}

// browserSandbox recognises the messages of Chromium that it cannot build its own sandbox.
func browserSandbox(lines []string) (f finding, ok bool) {
	for _, line := range lines {
		lower := strings.ToLower(line)
		for _, words := range []string{"no usable sandbox", "sandboxing failed", "failed to move to new namespace", "without --no-sandbox"} {
			if strings.Contains(lower, words) {
				return finding{
					note: "a browser cannot build its own sandbox in the jail, which refuses user namespaces",
					fix:  "start the browser with --no-sandbox (Playwright: chromiumSandbox = false): the jail is around it",
					hint: Hint{Explain: PageBrowser},
				}, true
			}
		}
	}
	return finding{}, false
}

// crossDevice recognises a rename or a link across the border of two rules. No right is
// missing for it.
func (a *analyzer) crossDevice(lines []string) (f finding, ok bool) {
	for _, line := range lines {
		if said.HasWord(line, "EXDEV") || strings.Contains(strings.ToLower(line), "cross-device link") {
			return finding{
				note: a.serverSaid(line) + "; files cannot be moved or linked between the paths of two rules, as between two filesystems",
				fix:  "copy the file, or create it in the target directory; inside of the workspace, one rule for both paths also helps",
				hint: Hint{Explain: PageFsMove},
			}, true
		}
	}
	return finding{}, false
}

// planFix is the advice where nothing points to a rule.
func (a *analyzer) planFix() string { return a.planCommand() + " prints what the server may access" }

// planCommand returns the command that shows the policy of this server.
func (a *analyzer) planCommand() string {
	switch {
	case a.ev.FromCommandLine:
		return "`mcp-jail plan` with the same arguments"
	case a.ev.Server == "":
		return "`mcp-jail plan`"
	}
	return "`" + show.Typed("mcp-jail plan", a.ev.Server) + "`"
}

// analyzeSignal analyzes the signals by which limits and filters end a process.
func (a *analyzer) analyzeSignal() (f finding, ok bool) {
	if a.ev.Exit == nil || a.ev.Profile == nil {
		return f, false
	}
	if a.ev.Unread {
		return finding{note: "it was ended by mcp-jail: it did not read the answers to its own requests, and mcp-jail had no memory for more of them"}, true
	}
	limits := a.profile.Limits
	switch sig := a.ev.Exit.Signal; {
	case sig == syscall.SIGKILL && limits.MemoryMB > 0 && a.ev.Timeout == 0:
		f := a.raiseLimit(keyMemory)
		f.note = "it was killed, which happens when the jail's processes use more than memory_mb = " + strconv.Itoa(limits.MemoryMB)
		f.fix = "it may need more memory"
		return f, true
	case signalName(sig) == "SIGSYS":
		return finding{note: "a seccomp filter ended it because of a system call: the filter of the jail, or one of its own"}, true
	case signalName(sig) == "SIGXFSZ" && limits.FileSizeMB > 0:
		f := a.raiseLimit(keyFileSize)
		f.note = "it wrote a file larger than a limit such as file_size_mb = " + strconv.Itoa(limits.FileSizeMB)
		f.fix = "if it needs larger files"
		return f, true
	}
	return f, false
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

// packageDownload recognises a package runner without a network.
func (a *analyzer) packageDownload() (f finding, ok bool) {
	if len(a.profile.Argv) == 0 {
		return f, false
	}
	name := filepath.Base(a.profile.Argv[0])
	ask, fetches := packageRunners()[name]
	networked := slices.ContainsFunc(a.profile.Net, func(r policy.NetRule) bool { return r.Allow })
	if !fetches || networked || a.ev.Stage == StageCall {
		return f, false
	}
	fix := "install the package ahead of time and start its program instead of " + name + ", or run it once with --net '*' to fill its cache"
	if ask != "" {
		fix += " (the host that it asks is the one that `" + ask + "` prints)"
	}
	return finding{note: name + " downloads what it runs, and the policy grants no network", fix: fix, hint: Hint{Explain: PagePackageMissing}}, true
}
