package diagnostics

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/policy"
)

// maxHints bounds the hints of one diagnosis. Users add a few lines and try again. The
// denials contain the rest.
const maxHints = 8

// candidate is a finding that competes to be named as the cause of the failure.
type candidate struct {
	finding
	distance   int  // from the failure: 0 is the closest line
	named      bool // a line names it, of the text of the failure or of older output
	background bool // the refusal happens also where nothing fails
	incidental bool // a host was refused, but the text names another cause
}

// rank returns the likelihood that a candidate is the cause, 0 for the highest. Denials on
// record rank before conclusions from text, and first those that the failing text names.
// Then come names in the failing text, incidental denials, names in older output, and last
// denials that happen also where nothing fails. The first own lines are the text of the
// failure.
func (c *candidate) rank(own int) int {
	said := c.named && c.distance < own
	certain := c.hint.Attribution == Certain
	switch {
	case certain && said:
		return 0
	case c.background:
		return 5
	case certain && !c.incidental:
		return 1
	case said:
		return 2
	case certain:
		return 3
	}
	return 4
}

// candidates is a list of candidates without repetition.
type candidates []candidate

// add appends a candidate or merges it into the one about the same thing. The first
// attribution and the smallest distance stay.
func (all *candidates) add(f candidate) {
	for i := range *all {
		old := &(*all)[i]
		if !old.same(f) {
			continue
		}
		old.distance = min(old.distance, f.distance)
		old.named = old.named || f.named
		old.background = old.background && f.background
		// The record holds the file of a program, the text the name for the rule.
		if f.named && f.grant.program != "" && old.grant.program != "" {
			old.grant = f.grant
		}
		// The more specific grant makes the better rule.
		if f.grant.refines(old.grant) {
			old.grant = f.grant
			if old.hint.Attribution == f.hint.Attribution {
				old.hint = f.hint
			}
		}
		return
	}
	*all = append(*all, f)
}

// same reports whether two candidates concern the same thing.
func (c *candidate) same(other candidate) bool {
	if c.hint.Axis != other.hint.Axis && c.grant != other.grant {
		return false
	}
	if c.hint.Axis == policy.AxisNet && c.grant.host != "" && c.grant.host == other.grant.host {
		return c.grant == other.grant || c.grant.refines(other.grant) || other.grant.refines(c.grant)
	}
	if !c.grant.isZero() && c.grant == other.grant {
		return true
	}
	// Text often does not distinguish reading from writing. The record does.
	return c.hint.Target == other.hint.Target && (c.hint.Missing == other.hint.Missing || c.hint.Attribution != other.hint.Attribution)
}

// refines reports whether g is for a connection to a host and other is for the whole host.
func (g grant) refines(other grant) bool {
	return g.host != "" && other == grant{host: g.host} && g != other
}

// ranked sorts the candidates, the most likely cause first, and removes those that a
// better one makes doubtful. The first own lines are the text of the failure.
func (all candidates) ranked(own int) candidates {
	names := slices.ContainsFunc(all, func(f candidate) bool {
		return f.grant.host != "" && !isAddress(f.grant.host) && f.grant.host != "localhost"
	})
	all = slices.DeleteFunc(all, func(f candidate) bool {
		// An address beside a refused name most likely belongs to that name.
		return names && f.hint.Attribution == Likely && isAddress(f.grant.host)
	})
	slices.SortStableFunc(all, func(a, b candidate) int {
		if r := a.rank(own) - b.rank(own); r != 0 {
			return r
		}
		if s := b.hint.Attribution.strength() - a.hint.Attribution.strength(); s != 0 {
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
func (all candidates) grants(own int) []grant {
	said := func(f candidate) bool { return f.named && f.distance < own }
	recorded := slices.ContainsFunc(all, func(f candidate) bool { return f.hint.Attribution == Certain && said(f) && !f.grant.isZero() })
	close := slices.ContainsFunc(all, func(f candidate) bool {
		return (said(f) || f.hint.Attribution == Certain && !f.incidental) && !f.grant.isZero()
	})
	rare := slices.ContainsFunc(all, func(f candidate) bool { return !f.background })
	var grants []grant
	for i, f := range all {
		switch {
		case i > 0 && f.hint.Warning != "":
		case said(f):
			grants = append(grants, f.grant)
		case f.incidental, f.background && rare, f.hint.Attribution == Certain && recorded, f.hint.Attribution != Certain && close:
		default:
			grants = append(grants, f.grant)
		}
	}
	return mergeGrants(grants)
}

// analyzeDenials turns the recorded denials into candidates. A denial that the text names
// gets the distance of that line. The others follow in order of time, because later
// denials often come from cleaning up. If the server ended during a request, the latest
// comes first: it went on after the earlier ones.
func (a *analyzer) analyzeDenials(lines []string) candidates {
	var all candidates
	n := len(a.ev.Denials)
	ended := a.ev.Exit != nil && (a.ev.Stage == StageCall || a.ev.Stage == StageList)
	for i, d := range a.ev.Denials {
		if a.cleansUp(d, a.ev.Denials[:i]) {
			continue
		}
		order := i
		if ended {
			order = n - 1 - i
		}
		f := candidate{finding: a.analyzeDenial(d), distance: len(lines) + order, background: d.Background || d.Operation == "send"}
		for at, line := range lines {
			if a.namesTarget(line, d) {
				f.distance, f.named = at, true
				break
			}
		}
		all.add(f)
	}
	return all
}

// cleansUp reports whether a denial is the removal of a file after another access was refused: the
// file is the target of that access, or does not exist.
func (a *analyzer) cleansUp(d policy.Denial, before []policy.Denial) bool {
	return strings.HasPrefix(d.Operation, "remove") && slices.ContainsFunc(before, func(b policy.Denial) bool {
		return b.Axis == d.Axis && !strings.HasPrefix(b.Operation, "remove") && (b.Target == d.Target || a.exists(d.Target) == absent)
	})
}

// namesTarget reports whether a line of text names the target of a denial. A path may also
// be relative to the working directory.
func (a *analyzer) namesTarget(line string, d policy.Denial) bool {
	target := d.Target
	if dir := a.profile.Dir; d.Axis == policy.AxisFs && dir != "" && dir != "/" && target != dir && policy.Within(target, dir) {
		if said.HasPath(line, target[len(dir)+1:]) {
			return true
		}
	}
	if d.Axis == policy.AxisNet {
		if host, _, _, ok := said.SplitEndpoint(target); ok {
			target = host
		}
	}
	return len(target) > 2 && strings.Contains(line, target)
}

// analyzeText analyzes the names in the lines. It returns the candidates and the closest
// name that the policy is known not to refuse.
func (a *analyzer) analyzeText(lines []string) (all candidates, cleared *finding) {
	vague := map[int]bool{} // lines that have a candidate
	for _, ref := range said.References(lines, a.escaped) {
		if ref.Vague && ref.Kind != said.Variable && vague[ref.Line] {
			continue
		}
		f := a.analyzeReference(ref)
		switch {
		case f.refused:
			vague[ref.Line] = true
			all.add(candidate{finding: f, distance: ref.Line, named: true})
		case f.note != "" && cleared == nil && !ref.Vague:
			cleared = &f
		}
	}
	return all, cleared
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
	return slices.ContainsFunc(likely, func(f candidate) bool { return f.hint.Axis != policy.AxisNet && f.distance < own })
}
