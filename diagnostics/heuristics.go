package diagnostics

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/mcp-jail/mcp-jail/policy"
)

// heuristics is what can be said when nothing that the policy refuses was named:
// never more than Possible.
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
		if refusedElsewhere(line) {
			continue
		}
		f, show := matchFault(line)
		switch f {
		case faultNone, faultAbsent:
			continue
		case faultNetwork:
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
	if a.ev.Timeout > 0 || a.ev.Stage == StageBoot && len(lines) == 0 {
		return a.packageDownload()
	}
	return finding{}, false
}

// browserSandbox knows how Chromium says that it cannot build its own sandbox.
func browserSandbox(lines []string) (f finding, ok bool) {
	for _, line := range lines {
		lower := strings.ToLower(line)
		for _, words := range []string{"no usable sandbox", "sandboxing failed", "failed to move to new namespace", "without --no-sandbox"} {
			if strings.Contains(lower, words) {
				return finding{
					note: "a browser cannot build a sandbox of its own in the jail, where user namespaces are refused",
					fix:  "start the browser with --no-sandbox (Playwright: chromiumSandbox = false): the jail is around it",
				}, true
			}
		}
	}
	return finding{}, false
}

// crossDevice knows a name that was to be moved or linked out of the place of one rule. It
// says "not permitted" too, and no right is missing.
func (a *analyzer) crossDevice(lines []string) (f finding, ok bool) {
	for _, line := range lines {
		if hasWord(line, "EXDEV") || strings.Contains(strings.ToLower(line), "cross-device link") {
			return finding{
				note: a.serverSaid(line) + "; nothing is moved or linked from the place of one rule to that of another, as between two filesystems",
				fix:  "have it copied, or what is moved into place made beside it; inside of the workspace one rule for both places helps too",
			}, true
		}
	}
	return finding{}, false
}

// planFix is where to look when nothing points at a rule.
func (a *analyzer) planFix() string { return a.planCommand() + " prints what it may touch" }

// planCommand is the command that shows the policy of this server.
func (a *analyzer) planCommand() string {
	switch {
	case a.ev.FromCommandLine:
		return "`mcp-jail plan` with the same arguments"
	case a.ev.Server == "":
		return "`mcp-jail plan`"
	}
	return "`mcp-jail plan " + a.ev.Server + "`"
}

// analyzeSignal judges the signals that limits and filters end a process with.
func (a *analyzer) analyzeSignal() (f finding, ok bool) {
	if a.ev.Exit == nil || a.ev.Profile == nil {
		return f, false
	}
	limits := a.profile.Limits
	switch sig := a.ev.Exit.Signal; {
	case sig == syscall.SIGKILL && limits.MemoryMB > 0 && a.ev.Timeout == 0:
		f := a.raiseLimit(keyMemory)
		f.note = "it was killed, as it is when the jail's processes use more than memory_mb = " + strconv.Itoa(limits.MemoryMB)
		f.fix = "it may need more memory"
		return f, true
	case signalName(sig) == "SIGSYS":
		return finding{note: "it was ended for a system call that a filter forbids: the jail's, or one of its own"}, true
	case signalName(sig) == "SIGXFSZ" && limits.FileSizeMB > 0:
		f := a.raiseLimit(keyFileSize)
		f.note = "it wrote a file larger than a limit, as file_size_mb = " + strconv.Itoa(limits.FileSizeMB) + " is one"
		f.fix = "if it needs larger files"
		return f, true
	}
	return f, false
}

// packageRunners are programs that download what they run, with the command that names
// the host they ask. Without a network they stay silent for a minute and then
// say little.
func packageRunners() map[string]string {
	return map[string]string{
		"npx": "npm config get registry", "npm": "npm config get registry", "pnpm": "pnpm config get registry",
		"pnpx": "pnpm config get registry", "yarn": "yarn config get registry", "bunx": "npm config get registry",
		"uvx": "", "uv": "", "pipx": "pip config get global.index-url",
	}
}

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
	return finding{note: name + " downloads what it runs, and the policy grants no network", fix: fix}, true
}
