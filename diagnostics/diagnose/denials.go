package diagnose

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/analysis"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/words"
	"github.com/mcp-jail/mcp-jail/policy"
)

// recorded returns what the jail recorded during the failing work: first what the failing lines name,
// then in the order of time. If the server ended, the latest comes first: it went on after the earlier
// ones. What happens also where nothing fails, and what fits only other words, is no cause.
func recorded(c *analysis.Case, lines []string) (found []analysis.Finding) {
	denials := slices.DeleteFunc(slices.Clone(c.Evidence.Denials), func(d policy.Denial) bool {
		named := mentions(lines, d)
		return !named && (analysis.IsHarmless(d) || d.Background || d.Reason == policy.DeniedOwnHome || !fits(lines, d) || missesOther(c, lines, d))
	})
	if c.Evidence.Exit != nil {
		slices.Reverse(denials)
	}
	slices.SortStableFunc(denials, func(a, b policy.Denial) int { return unnamed(lines, a) - unnamed(lines, b) })
	for i, d := range denials {
		if len(found) >= maxHints || i > 0 && unnamed(lines, d) > 0 {
			break // where the words name none, the first is the cause
		}
		f := denied(c, d)
		f.Hint.Attribution = sureOf(lines, d, f.Hint.Attribution)
		if !slices.ContainsFunc(found, func(o analysis.Finding) bool { return sameGrant(o, f) }) {
			found = append(found, analysis.WithNeeds(c, f)...)
		}
	}
	return found
}

// sureOf returns how sure it is that a refusal which the jail recorded is the cause, at most: certain only if the failing
// lines name it, or name nothing else.
func sureOf(lines []string, d policy.Denial, most diagnostics.Attribution) diagnostics.Attribution {
	isOther := func(n words.Name) bool { return n.Kind == words.Path || n.Kind == words.Host }
	if isAnswered(d) {
		return most
	}
	if most == diagnostics.Certain && d.Axis != policy.AxisLimits && !mentions(lines, d) && (slices.ContainsFunc(words.Names(lines), isOther) || slices.ContainsFunc(lines, words.OwnFault)) {
		return diagnostics.Likely
	}
	return most
}

// isAnswered reports whether mcp-jail has answered in place of a host, or ended the connection: what failed then says no
// more than that.
func isAnswered(d policy.Denial) bool {
	return d.Axis == policy.AxisNet && d.Reason != "" && d.Reason != policy.DeniedNotGranted
}

func sameGrant(a, b analysis.Finding) bool {
	return a.Hint.Target == b.Hint.Target && a.Hint.Missing == b.Hint.Missing || !a.Object.IsZero() && a.Object.Same(b.Object)
}

func unnamed(lines []string, d policy.Denial) int {
	if mentions(lines, d) {
		return 0
	}
	return 1
}

// mentions reports whether lines name what was refused: whole, or by the last part of its name, unless that is the name of
// the program that was refused it, which begins its lines.
func mentions(lines []string, d policy.Denial) bool {
	name := d.Target
	if host, _, _, ok := words.SplitEndpoint(name); ok && d.Axis == policy.AxisNet {
		name = host
	}
	base := filepath.Base(name)
	return name != "" && slices.ContainsFunc(lines, func(line string) bool {
		return strings.Contains(line, name) || len(base) > 2 && base != filepath.Base(d.Program) && words.HasWord(line, base)
	})
}

// fits reports whether a refusal may lead to the words of a failure: those that tell of a connection
// come from one, and those that tell of a file from a file or a program. A line with a cause of its
// own, or with a variable that it asks for, has another cause.
func fits(lines []string, d policy.Denial) bool {
	fault := words.FaultOf(lines)
	if isAnswered(d) {
		return true
	}
	asks := func(n words.Name) bool { return n.Kind == words.Variable && strings.Contains(n.Text, "_") }
	if fault == words.NoFault && (slices.ContainsFunc(lines, words.OwnFault) || slices.ContainsFunc(words.Names(lines), asks)) {
		return d.Axis == policy.AxisEnv || d.Axis == policy.AxisLimits
	}
	switch d.Axis {
	case policy.AxisNet:
		return fault == words.NoFault || fault == words.Network || fault == words.Refused && slices.ContainsFunc(lines, words.IsAboutConnection)
	case policy.AxisFs, policy.AxisProcess:
		return fault != words.Network
	}
	return true
}

// missesOther reports whether lines tell that a path is not there, and none of the paths in them leads to what was refused.
func missesOther(c *analysis.Case, lines []string, d policy.Denial) bool {
	if d.Axis != policy.AxisFs || words.FaultOf(lines) != words.Absent {
		return false
	}
	paths := slices.DeleteFunc(words.Names(lines), func(n words.Name) bool { return n.Kind != words.Path })
	return len(paths) > 0 && !slices.ContainsFunc(paths, func(n words.Name) bool {
		path, _ := c.Absolute(n.Text)
		path = c.Canonical(path)
		return policy.Within(path, d.Target) || policy.Within(d.Target, path)
	})
}

// denied turns a denial of the jail into a finding. The finding is always refused. It has a grant if
// a rule can allow the access.
func denied(c *analysis.Case, d policy.Denial) analysis.Finding {
	if d.Target == policy.DenialOthers {
		return deniedOthers(c, d)
	}
	d.Program = c.Evidence.Redactor.Redact(c.Actor(d.Program))
	target := c.Name(d.Target)
	if filepath.IsAbs(d.Target) {
		target = c.Show(filepath.Clean(d.Target))
	}
	cause := diagnostics.Blocked(d, target)
	switch d.Axis {
	case policy.AxisFs:
		return analysis.AnalyzePath(c, d, cause)
	case policy.AxisIPC:
		if filepath.IsAbs(d.Target) { // a socket with a path
			if c.Evidence.Host.Stale(d.Target) {
				return analysis.StaleSocket(c, d)
			}
			return analysis.AnalyzePath(c, d, cause)
		}
	case policy.AxisNet:
		return portedLookup(c, analysis.AnalyzeNetwork(c, d, cause))
	case policy.AxisProcess:
		if words.RightsOf(d.Operation).Has(policy.Execute) {
			return analysis.AnalyzeExec(c, d, cause)
		}
	case policy.AxisLimits:
		return analysis.AnalyzeLimit(c, d, cause)
	}
	return analysis.Refused(diagnostics.Certain, d.Axis, d.Target, d.Operation, cause, change.Object{}).Unfixable("no rule grants this")
}

func deniedOthers(c *analysis.Case, d policy.Denial) analysis.Finding {
	sure, cause := diagnostics.Certain, "the jail blocked more accesses than it records one by one"
	if d.Reason == policy.DeniedAbsent {
		sure, cause = diagnostics.Possible, "the server tried more missing names than were looked up on this machine, where they may be missing too"
	}
	f := analysis.Refused(sure, d.Axis, d.Target, d.Operation, cause, change.Object{})
	f.Fix = "a new session starts with an empty record"
	return f
}

// portedLookup returns the finding about a lookup with the port that the failing lines name.
func portedLookup(c *analysis.Case, f analysis.Finding) analysis.Finding {
	for _, n := range ported(failingLines(c), words.Names(failingLines(c))) {
		if n.Kind == words.Host && f.Object.Net.Host == n.Text && f.Object.Net.Port == 0 && n.Port != 0 {
			f.Object = analysis.NamedHost(c, n).Object
		}
	}
	return f
}
