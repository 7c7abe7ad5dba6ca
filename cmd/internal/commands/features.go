package commands

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/egress/tlsworker"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// optionalFeatures are the features without which a jail still enforces what it claims.
var optionalFeatures = map[string]bool{"seccomp_notify": true, "fresh_proc": true, "ptrace_scope": true, "pid_max": true, "supervised_sockets": true, "cgroup": true, "overlay": true}

// A trial is what came of building a jail. Its gaps are those that the operating system has under every
// policy, if the jail was built with these accepted.
type trial struct {
	err  error
	gaps []confine.Gap
}

// tryJail builds a jail that reaches some hosts, and one for which the gaps of the operating system are
// accepted where there are no others.
func tryJail(hosts ...string) trial {
	err := session.TryJail(confine.Launcher{}, hosts...)
	var open *confine.GapError
	if !errors.As(err, &open) || open.Waive == nil || slices.ContainsFunc(open.Waive, func(a policy.Axis) bool { return !a.IsPlatform() }) {
		return trial{err: err}
	}
	return trial{session.TryJail(confine.Launcher{Waive: open.Waive}, hosts...), open.Gaps}
}

// jailChecks says whether a jail can be built here, and what to do if not.
func jailChecks(tried trial) []check {
	const weaker = "To use a weaker jail instead (wrap says what you lose, and asks):"
	k := check{mark: well, subject: "jail", text: "a test program ran in a jail and checked it from inside"}
	var open *confine.GapError
	switch {
	case tried.err == nil && tried.gaps != nil:
		k.mark, k.text = note, "a test program ran in a jail and checked it from inside. This system cannot enforce:"
		for _, g := range tried.gaps {
			k.text += "\n" + show.Line(g.What+": "+g.Why)
		}
		k.advice = []advice{{weaker, "mcp-jail wrap"}}
	case tried.err == nil:
	case errors.As(tried.err, &open) && open.HostNamespaces.Answer == confine.No:
		namespaces := open.HostNamespaces
		k.mark, k.text = fails, "this machine does not allow user namespaces ("+namespaces.Detail+"), so your servers do not start"
		how, command, _ := strings.Cut(namespaces.Fix, ":  ")
		if k.advice = []advice{{"To allow user namespaces, " + strings.TrimPrefix(how, "allow them ") + ":", command}}; command == "" {
			k.advice[0].say = "To have user namespaces: " + how + "."
		}
		if open.Waive != nil && session.TryJail(confine.Launcher{Waive: open.Waive}) == nil {
			k.text = strings.TrimSuffix(k.text, "do not start") + "start only in a weaker jail, if you accept that"
			k.advice = append(k.advice, advice{weaker, "mcp-jail wrap"})
		}
	default:
		k.mark, k.text = fails, "no jail can be built, so your servers do not start: "+tried.err.Error()
		for _, f := range confine.Probe().List() {
			if f.Answer == confine.No && !optionalFeatures[f.Name] && !strings.Contains(k.text, f.Detail) {
				k.text += "\n" + f.Name + ": " + f.Detail
			}
		}
	}
	all := []check{k}
	if isWSL(confine.Probe().Kernel) {
		all = append(all, check{mark: note, subject: "WSL", text: "a jail starts no program of Windows. docs/install.md says what holds below /mnt/c"})
	}
	return all
}

// networkCheck says whether servers can be given single hosts, and secrets for them.
func networkCheck(egress confine.Feature) check {
	k := check{mark: well, subject: "network", text: "single hosts can be allowed; secrets work"}
	switch tls := findTLSProgram(); {
	case egress.Answer != confine.Yes:
		k.mark, k.text = note, "no single hosts can be allowed: "+egress.Detail
	case tls.Answer != confine.Yes:
		k.mark, k.text = note, "single hosts can be allowed. Secrets and rules about requests do not work: "+tls.Detail
		if tls.Fix != "" {
			k.advice = []advice{{say: "For secrets and rules about requests, " + tls.Fix + "."}}
		}
	}
	return k
}

// isWSL reports whether a kernel is that of WSL, whose release names Microsoft.
func isWSL(release string) bool { return strings.Contains(strings.ToLower(release), "microsoft") }

// tryEgress reports whether a program can be started with a granted host. The program does not
// connect to the host.
func tryEgress() confine.Feature {
	tried := tryJail("example.org")
	err := tried.err
	var gaps *confine.GapError
	switch {
	case err == nil && tried.gaps != nil:
		return confine.Feature{Answer: confine.Yes, Detail: "a proxy of the session's own"}
	case err == nil:
		return confine.Feature{Answer: confine.Yes, Detail: "sockets handed out of the jail"}
	case errors.As(err, &gaps):
		for _, g := range gaps.Gaps {
			if g.Axis == policy.AxisNet {
				return confine.Feature{Answer: confine.No, Detail: g.Why}
			}
		}
		if gaps.HostNamespaces.Answer == confine.No && gaps.Waive != nil && session.TryJail(confine.Launcher{Waive: gaps.Waive}, "example.org") == nil {
			return confine.Feature{Answer: confine.Yes, Detail: "sockets made by mcp-jail"}
		}
	}
	return confine.Feature{Answer: confine.No, Detail: "no jail can be built"}
}

// findTLSProgram looks for mcp-jail-tls as a start does. It assumes a server that may write
// nothing.
func findTLSProgram() confine.Feature {
	self, _ := os.Executable()
	program, err := tlsworker.Find(self, os.Getenv("PATH"), func(string, policy.Rights) (policy.Writer, bool) { return policy.Writer{}, false })
	switch {
	case errors.Is(err, tlsworker.ErrMissing):
		return confine.Feature{Answer: confine.No, Detail: tlsworker.ErrMissing.Error(), Fix: "install mcp-jail-tls beside mcp-jail, from the same build"}
	case err != nil:
		return confine.Feature{Answer: confine.No, Detail: err.Error()}
	}
	return confine.Feature{Answer: confine.Yes, Detail: program}
}
