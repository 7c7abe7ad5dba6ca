package diagnostics

import (
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/grants"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/names"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/network"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/paths"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/starts"
	"github.com/mcp-jail/mcp-jail/policy"
)

// maxKnown bounds what is told of one failure whose words name nothing.
const maxKnown = 2

// knownCauses returns what mcp-jail knows without the words of a failure, and what fits them: a path
// or a host that the user's own words name and the policy does not grant, a withheld variable that
// such words are about, a preset for the package. lines are the text of the failure. It returns
// nothing if the words have another cause.
func knownCauses(c *facts.Case, lines []string) (all candidates) {
	if c.Evidence.Profile == nil || c.Evidence.Start != nil || c.Evidence.Started || onlyDenials(c.Evidence) {
		return nil
	}
	words := said.FailureOf(lines)
	var held candidates
	for _, f := range names.WithheldFor(c, lines) {
		held = append(held, candidate{Finding: f, named: true})
	}
	if words.Access && len(held) > 0 || slices.ContainsFunc(held, func(f candidate) bool { return f.Hint.Attribution == Likely }) {
		return held
	}
	if _, downloads := starts.PackageDownload(c); downloads && !words.File {
		return held // a launcher without a network, and not yet the server
	}
	ends := c.Evidence.Stage == StageStartup || c.Evidence.Exit != nil || c.Evidence.Timeout > 0
	switch {
	case words.Network || words.Wordless && !isCrash(c) || c.Evidence.Timeout > 0 && !words.Other && !words.File:
		all = knownHosts(c, words)
		if len(all) == 0 && ends && !words.Other {
			all = knownPaths(c, words, lines)
		}
	case words.Lacks || ends && c.Evidence.Stage == StageStartup && !words.Other && !words.Access && !isCrash(c):
		all = knownPaths(c, words, lines)
	}
	all = append(all, held...)
	return all[:min(len(all), maxKnown)]
}

// withKnown adds what is known to candidates of which none is surely the cause: after those that the
// words name, and before refusals that happen also where nothing fails.
func withKnown(c *facts.Case, found candidates, cleared *facts.Finding, lines []string) candidates {
	if len(found) == 0 || cleared != nil || slices.ContainsFunc(found, func(f candidate) bool { return !f.background && f.Hint.Attribution != Possible }) {
		return found
	}
	known := slices.DeleteFunc(ranked(c, knownCauses(c, lines), len(lines)), func(f candidate) bool {
		return slices.ContainsFunc(found, func(o candidate) bool { return o.Grant == f.Grant })
	})
	at := slices.IndexFunc(found, func(f candidate) bool { return f.background })
	if at < 0 {
		at = len(found)
	}
	return slices.Insert(slices.Clone(found), at, known...)
}

func isCrash(c *facts.Case) bool { return c.Evidence.Exit != nil && c.Evidence.Exit.Signal != 0 }

// knownHosts returns the preset of the package, if the network is what failed, or else the hosts of
// the arguments and variables.
func knownHosts(c *facts.Case, words said.Failure) (all candidates) {
	sure := Possible
	if words.Network {
		sure = Likely
	}
	if words.Other { // "status code 404", "invalid URL": the service has answered, or was not asked
		return nil
	}
	hosts := network.UngrantedHosts(c)
	if len(hosts) > 1 {
		sure = Possible
	}
	for _, u := range hosts {
		all = append(all, candidate{Finding: network.AttributeUngranted(c, sure, u), named: true})
	}
	if f, ok := presetFinding(c, sure); ok && len(all) == 0 && words.Network {
		all = append(all, candidate{Finding: f, named: true})
	}
	return all
}

// knownPaths returns the paths of the arguments and variables. While the server answers, its words
// must be about such a thing: about this one by name, or about a file without a name.
func knownPaths(c *facts.Case, words said.Failure, lines []string) (all candidates) {
	for _, m := range paths.Moved(c) {
		if c.Evidence.Stage == StageStartup {
			all = append(all, candidate{Finding: paths.AttributeMoved(c, Possible, m), named: true})
		}
	}
	found := paths.Ungranted(c)
	sure := Possible
	if words.Lacks && len(found) == 1 {
		sure = Likely
	}
	for _, n := range found {
		if paths.IsTooWide(c, n.Path) && !words.File {
			continue
		}
		mentioned := said.MentionsWord(lines, filepath.Base(n.Path)) || n.Variable != "" && said.MentionsWord(lines, n.Variable)
		if !mentioned && (words.Named || words.Other || serverAnswered(c) && !words.File) {
			continue
		}
		where := "which the server's arguments name"
		if n.Variable != "" {
			where = "which the variable " + n.Variable + " names"
		}
		f := paths.AttributeNamed(c, sure, n, "the server cannot reach "+c.Show(n.Path)+", "+where+": it exists on the host and is not granted")
		if paths.IsTooWide(c, n.Path) {
			f.Grant, f.Hint.Warning, f.Fix = grants.Grant{}, "", "grant what the server needs in "+c.Show(n.Path)+", not all of it"
		}
		f.Hint.Explain = PagePathArg
		all = append(all, candidate{Finding: f, named: true})
	}
	return all
}

// presetFinding returns the finding that the preset for the server's package would grant its hosts.
func presetFinding(c *facts.Case, sure Attribution) (f facts.Finding, ok bool) {
	name, hosts := presetOf(c)
	if len(hosts) == 0 {
		return f, false
	}
	cause := "the preset " + name + " is for the server's package, and grants " + report.InWords(hosts[:min(len(hosts), 3)]) + ", which the policy does not"
	return facts.Refused(sure, policy.AxisNet, hosts[0], "connect", cause, grants.Grant{Preset: name}), true
}

// withPreset adds the preset for the server's package to the advice about a host that it grants, or
// about a name that the jail did not see.
func withPreset(c *facts.Case, f facts.Finding) facts.Finding {
	if f.Hint.Axis != policy.AxisNet || !f.Refused || f.Grant.Preset != "" {
		return f
	}
	if f.Hint.Target == "" { // the jail did not see the name
		for i, u := range network.UngrantedHosts(c) {
			known := network.AttributeUngranted(c, f.Hint.Attribution, u)
			if _, err := netip.ParseAddr(u.Host); err == nil || known.Grant.IsZero() {
				continue
			}
			if i == 0 {
				f.Fix, f.Grant, f.Hint.Warning = known.Fix, known.Grant, known.Hint.Warning
			}
			f.Hint.Cause += "; " + known.Hint.Cause
		}
		if !f.Grant.IsZero() {
			return f
		}
	}
	name, hosts := presetOf(c)
	host, _, _, _ := said.SplitEndpoint(f.Hint.Target)
	granted := slices.ContainsFunc(hosts, func(p string) bool {
		rest, wild := strings.CutPrefix(p, "*")
		return p == host || wild && strings.HasSuffix(host, rest)
	})
	switch {
	case f.Hint.Target == "" && len(hosts) > 0: // the name is not on record
		f.Fix, f.Grant = "", grants.Grant{Preset: name}
		f.Hint.Cause += "; the preset " + name + " is for this package, and grants " + report.InWords(hosts[:min(len(hosts), 3)])
	case granted:
		f.Fix = report.Joined(f.Fix, "the preset "+name+" is for this package, and grants that host")
	}
	return f
}

func presetOf(c *facts.Case) (name string, hosts []string) {
	if c.Evidence.Preset == nil {
		return "", nil
	}
	return c.Evidence.Preset()
}
