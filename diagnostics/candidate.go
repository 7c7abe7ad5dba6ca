package diagnostics

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/grants"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/limits"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/names"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/network"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/paths"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/starts"
	"github.com/mcp-jail/mcp-jail/policy"
)

// maxHints bounds the hints of one diagnosis. Users add a few lines and try again. The
// denials contain the rest.
const maxHints = 8

// candidate is a finding that competes to be named as the cause of the failure.
type candidate struct {
	facts.Finding
	distance   int   // from the failure: 0 is the closest line
	named      bool  // a line names it, of the text of the failure or of older output
	background bool  // the refusal happens also where nothing fails
	harmless   bool  // programs do without it
	broken     bool  // a connection was ended, or a request answered, in place of a granted host
	incidental bool  // it happened beside the failure, which has another cause
	lines      []int // of what a program misses: where it says so
	connection bool  // the text is about a connection, and the server tried this one
}

// rank returns the likelihood that a candidate is the cause, 0 for the highest. Denials on
// record rank before conclusions from text, and first those that the failing text names.
// Then come names in the failing text, names in older output, denials that happen also where
// nothing fails, and last what is no cause. The first own lines are the text of the failure.
func (c *candidate) rank(own int) int {
	said := c.named && c.distance < own
	certain := c.Hint.Attribution == Certain
	switch {
	case c.incidental:
		return 6
	case certain && said:
		return 0
	case c.background: // unless the failing text names it
		return 5
	case certain:
		return 1
	case said:
		return 2
	}
	return 3
}

// candidates is a list of candidates without repetition.
type candidates []candidate

func (all *candidates) add(f candidate) {
	for i := range *all {
		old := &(*all)[i]
		if !old.same(f) {
			continue
		}
		// The first attribution and the smallest distance stay.
		old.distance = min(old.distance, f.distance)
		old.named = old.named || f.named
		old.lines = append(old.lines, f.lines...)
		old.background, old.harmless = old.background && f.background, old.harmless && f.harmless
		// The record holds the file of a program, the text the name for the rule.
		if f.named && f.Grant.Program != "" && old.Grant.Program != "" {
			old.Grant = f.Grant
		}
		// The more specific grant makes the better rule.
		if refines(f.Grant, old.Grant) {
			old.Grant = f.Grant
			if old.Hint.Attribution == f.Hint.Attribution {
				old.Hint = f.Hint
			}
		}
		return
	}
	*all = append(*all, f)
}

func (c *candidate) same(other candidate) bool {
	if c.Hint.Axis != other.Hint.Axis && c.Grant != other.Grant {
		return false
	}
	// A host and a connection to it are one thing, two connections to it are two.
	if c.Hint.Axis == policy.AxisNet && c.Grant.Host != "" && c.Grant.Host == other.Grant.Host {
		return c.Grant == other.Grant || refines(c.Grant, other.Grant) || refines(other.Grant, c.Grant)
	}
	if !c.Grant.IsZero() && c.Grant == other.Grant {
		return true
	}
	// Text often does not distinguish reading from writing. The record does.
	return c.Hint.Target == other.Hint.Target && (c.Hint.Missing == other.Hint.Missing || c.Hint.Attribution != other.Hint.Attribution)
}

func refines(g grants.Grant, other grants.Grant) bool {
	return g.Host != "" && other == grants.Grant{Host: g.Host} && g != other
}

// ranked sorts the candidates, the most likely cause first, and removes those that a
// better one makes doubtful. The first own lines are the text of the failure.
func (all candidates) ranked(own int) candidates {
	names := slices.ContainsFunc(all, func(f candidate) bool {
		return f.Grant.Host != "" && !isAddress(f.Grant.Host) && f.Grant.Host != "localhost"
	})
	all = slices.DeleteFunc(all, func(f candidate) bool {
		// An address beside a refused name most likely belongs to that name.
		return names && f.Hint.Attribution == Likely && isAddress(f.Grant.Host)
	})
	slices.SortStableFunc(all, func(a, b candidate) int {
		if r := a.rank(own) - b.rank(own); r != 0 {
			return r
		}
		if s := strength(b.Hint.Attribution) - strength(a.Hint.Attribution); s != 0 {
			return s
		}
		return a.distance - b.distance
	})
	return all[:min(len(all), maxHints)]
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// grants returns the grants that the lines to paste cover. Servers try many things without
// needing them. So when the text names some of the denials, the other denials are left
// out, and so are background denials. Names in the failing text are added. A grant with a
// warning is included only for the first candidate.
func (all candidates) grants(own int) []grants.Grant {
	said := func(f candidate) bool { return f.named && f.distance < own } // by the text of the failure
	recorded := slices.ContainsFunc(all, func(f candidate) bool { return f.Hint.Attribution == Certain && said(f) && !f.Grant.IsZero() })
	close := slices.ContainsFunc(all, func(f candidate) bool {
		return (said(f) || f.Hint.Attribution == Certain && !f.incidental) && !f.Grant.IsZero()
	})
	rare := slices.ContainsFunc(all, func(f candidate) bool { return !f.background })
	var wanted []grants.Grant
	for i, f := range all {
		switch {
		case i > 0 && f.Hint.Warning != "": // a risky line only for the likeliest cause
		case said(f):
			wanted = append(wanted, f.Grant)
		case f.incidental, f.background && rare, f.Hint.Attribution == Certain && recorded, f.Hint.Attribution != Certain && close:
		default:
			wanted = append(wanted, f.Grant)
		}
	}
	return grants.MergeGrants(wanted)
}

// analyzeDenials turns the recorded denials into candidates. A denial that the text names
// gets the distance of that line. The others follow in order of time, because later
// denials often come from cleaning up. If the server ended during a request, the latest
// comes first: it went on after the earlier ones.
func analyzeDenials(c *facts.Case, lines []string) candidates {
	var all candidates
	n := len(c.Evidence.Denials)
	ended := c.Evidence.Exit != nil && (c.Evidence.Stage == StageCall || c.Evidence.Stage == StageList)
	for i, d := range c.Evidence.Denials {
		if cleansUp(c, d, c.Evidence.Denials[:i]) {
			continue
		}
		order := i
		if ended {
			order = n - 1 - i
		}
		f := candidate{Finding: analyzeDenial(c, d), distance: len(lines) + order, harmless: isHarmless(d), broken: d.Axis == policy.AxisNet && d.Reason != "" && d.Reason != policy.DeniedNotGranted}
		f.background = d.Background || d.Operation == "send" || d.Axis == policy.AxisNet && isHabitual(f.Hint.Target)
		for at, line := range lines {
			if namesTarget(c, line, d) {
				f.distance, f.named = at, true
				break
			}
		}
		if f.harmless && !f.named {
			f.Finding = f.Unfixable(harmlessText(d))
		}
		all.add(f)
	}
	return all
}

// cleansUp reports whether a denial is the removal of a file after another access was refused: the
// file is the target of that access, or does not exist.
func cleansUp(c *facts.Case, d policy.Denial, before []policy.Denial) bool {
	return strings.HasPrefix(d.Operation, "remove") && slices.ContainsFunc(before, func(b policy.Denial) bool {
		return b.Axis == d.Axis && !strings.HasPrefix(b.Operation, "remove") && (b.Target == d.Target || c.Exists(d.Target) == facts.Absent)
	})
}

func namesTarget(c *facts.Case, line string, d policy.Denial) bool {
	target := d.Target
	// A server writes paths in its working directory without it.
	if dir := c.Profile.Dir; d.Axis == policy.AxisFs && dir != "" && dir != "/" && target != dir && policy.Within(target, dir) {
		if said.HasPath(line, target[len(dir)+1:]) {
			return true
		}
	}
	if d.Axis == policy.AxisNet {
		if host, _, _, ok := said.SplitEndpoint(target); ok {
			target = host
		}
	}
	return len(target) > 2 && // "/", "a": in too many lines
		strings.Contains(line, target)
}

func analyzeText(c *facts.Case, lines []string) (all candidates, cleared *facts.Finding, clearedAt int) {
	vague := map[int]bool{} // lines that have a candidate
	for _, ref := range said.References(lines, c.Escaped) {
		// Another name of the line is refused, and explains it.
		if ref.Vague && ref.Kind != said.Variable && vague[ref.Line] {
			continue
		}
		f := analyzeReference(c, ref)
		switch {
		case f.Refused:
			vague[ref.Line] = true
			all.add(candidate{Finding: f, distance: ref.Line, named: true})
		case f.Note != "" && cleared == nil && (!ref.Vague || f.AboutPolicy || ref.Kind == said.Host && network.IsLoopback(ref.Name)):
			cleared, clearedAt = &f, ref.Line
		}
	}
	return all, cleared, clearedAt
}

// namesAnotherCause reports whether the failing text names something other than a host
// that the policy refuses, and does not mention the network. A refused host is then
// incidental.
func namesAnotherCause(likely candidates, lines []string, own int) bool {
	for _, line := range lines[:min(own, len(lines))] {
		if f, _ := said.MatchFault(line); f == said.Network {
			return false
		}
	}
	return slices.ContainsFunc(likely, func(f candidate) bool { return f.Hint.Axis != policy.AxisNet && f.distance < own })
}

func strength(sure Attribution) int {
	switch sure {
	case Certain:
		return 3
	case Likely:
		return 2
	case Possible:
		return 1
	}
	return 0
}

func analyzeReference(c *facts.Case, ref said.Reference) facts.Finding {
	if c.Evidence.Profile == nil || c.Windows() && ref.Kind != said.Variable {
		return facts.Finding{}
	}
	switch ref.Kind {
	case said.Path:
		if f, ok := starts.AnalyzeBareName(c, ref); ok {
			return f
		}
		return paths.Analyze(c, ref)
	case said.Host:
		return network.Analyze(c, ref)
	case said.Variable:
		return names.AnalyzeVariable(c, ref)
	case said.Program:
		return starts.AnalyzeProgram(c, ref)
	case said.Repository:
		return paths.AnalyzeGitSearch(c, ref.Name)
	}
	return facts.Finding{}
}

// heuristics returns a possible cause if no refused name was found. It is never more
// than Possible.
func heuristics(c *facts.Case, lines []string) (f facts.Finding, ok bool) {
	if f, ok := limits.AnalyzeSignal(c); ok {
		return f, true
	}
	if f, ok := limits.Analyze(c, lines); ok {
		return f, true
	}
	if c.Windows() { // no other fault has the jail for its cause
		return f, false
	}
	if f, ok := starts.BrowserSandbox(c, lines); ok {
		return f, true
	}
	if f, ok := paths.CrossDevice(c, lines); ok {
		return f, true
	}
	for _, line := range lines {
		if said.RefusedElsewhere(line) {
			continue
		}
		fault, signature := said.MatchFault(line)
		switch fault {
		case said.NoFault, said.Absent:
			continue
		case said.Network:
			if f, ok := starts.PackageDownload(c); ok {
				return f, true
			}
		}
		note := c.ServerSaid(line) + "; a refusal of the jail looks like this (" + signature + "), and so do other faults"
		if f, ok := paths.WriteOnlyRule(c, note); ok && fault == said.Refused {
			return f, true
		}
		if fault == said.Network && c.Evidence.Profile != nil && len(c.Profile.Net) == 0 {
			note += "; the policy grants no network"
		}
		return facts.Finding{Note: note, Fix: c.PlanFix()}, true
	}
	if args := paths.TildeArguments(c); args != nil && c.Evidence.Stage == StageStartup && c.Evidence.Exit != nil {
		return facts.Finding{Note: paths.TildeText(c, args), Fix: paths.TildeFix(c, args), Hint: Hint{Explain: PagePathArg}}, true
	}
	// A launcher that waits for a network says nothing for a minute.
	if c.Evidence.Timeout > 0 || c.Evidence.Stage == StageStartup && len(lines) == 0 {
		return starts.PackageDownload(c)
	}
	return facts.Finding{}, false
}
