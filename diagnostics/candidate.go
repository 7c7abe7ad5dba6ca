package diagnostics

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// maxHints bounds what one diagnosis tells: a user adds a few lines and tries
// again. What is left out stands among the denials.
const maxHints = 8

// candidate is a blamed name on its way into a diagnosis.
type candidate struct {
	finding
	distance   int  // 0 is the closest to the failure
	named      bool // the text of the failure names it
	background bool // it is refused also where nothing fails
	incidental bool // a host, where the failing text speaks of something else
}

// rank is how a finding relates to the failure. What the jail has on record outranks
// what a text seems to say, first what the text names of it. Then comes what the failing
// text itself names, what stands beside that, what older output names, and last what is
// refused all the time.
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

// candidates collects them without repetition.
type candidates []candidate

// add takes a finding, or joins it to the one about the same thing: the
// stronger attribution stays, with the nearest place.
func (all *candidates) add(f candidate) {
	for i := range *all {
		old := &(*all)[i]
		if !old.same(f) {
			continue
		}
		old.distance = min(old.distance, f.distance)
		old.named = old.named || f.named
		old.background = old.background && f.background
		// The record has the file of a program, the text its name.
		if f.named && f.grant.program != "" && old.grant.program != "" {
			old.grant = f.grant
		}
		// A connection of which more is known makes the better rule.
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
	// A text often does not tell reading from writing, where the jail does.
	return c.hint.Target == other.hint.Target && (c.hint.Missing == other.hint.Missing || c.hint.Attribution != other.hint.Attribution)
}

// refines tells a need for a connection to a host from one for the host at all.
func (n grant) refines(other grant) bool {
	return n.host != "" && other == grant{host: n.host} && n != other
}

// ranked drops what a better finding makes doubtful and sorts, the most likely
// cause of the failure first. The first own lines are the failure's own text.
func (all candidates) ranked(own int) candidates {
	names := slices.ContainsFunc(all, func(f candidate) bool {
		return f.grant.host != "" && !isAddress(f.grant.host) && f.grant.host != "localhost"
	})
	all = slices.DeleteFunc(all, func(f candidate) bool {
		// An address beside a name that is refused is most likely that name's.
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

// grants are the needs that the lines to paste cover. A server touches many things in
// passing: where the text names some of what the jail has on record, the rest of that is
// left out, and so is what it is refused all the time. What the failing text itself names
// is added. A thing that is risky to grant is never granted in passing.
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

// analyzeDenials judges what the jail recorded. Those that the text names come as close as
// the text is; the others follow, the first refusal first: what comes behind it is often
// there to clean up.
func (a *analyzer) analyzeDenials(lines []string) candidates {
	var all candidates
	for i, d := range a.ev.Denials {
		if a.cleansUp(d, a.ev.Denials[:i]) {
			continue
		}
		f := candidate{finding: a.analyzeDenial(d), distance: len(lines) + i, background: d.Background || d.Operation == "send"}
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

// cleansUp tells the removal of what could not be made before.
func (a *analyzer) cleansUp(d Denial, before []Denial) bool {
	return strings.HasPrefix(d.Operation, "remove") && slices.ContainsFunc(before, func(b Denial) bool {
		return b.Axis == d.Axis && !strings.HasPrefix(b.Operation, "remove") && (b.Target == d.Target || a.exists(d.Target) == absent)
	})
}

// namesTarget tells whether a line of text names the target of a denial, a path also as it is
// called from the working directory.
func (a *analyzer) namesTarget(line string, d Denial) bool {
	target := d.Target
	if dir := a.profile.Dir; d.Axis == policy.AxisFs && dir != "" && dir != "/" && target != dir && policy.Within(target, dir) {
		if hasPath(line, target[len(dir)+1:]) {
			return true
		}
	}
	if d.Axis == policy.AxisNet {
		if host, _, _, ok := splitEndpoint(target); ok {
			target = host
		}
	}
	return len(target) > 2 && strings.Contains(line, target)
}

// hasPath tells whether a relative path stands in line, and not as a part of another.
func hasPath(line, path string) bool {
	for from := 0; ; {
		at := strings.Index(line[from:], path)
		if at < 0 {
			return false
		}
		at += from
		from = at + len(path)
		inPath := func(c byte) bool { return isWordByte(c) || c == '.' || c == '/' || c == '-' }
		if (at == 0 || !inPath(line[at-1]) || strings.HasSuffix(line[:at], " ./")) && (from == len(line) || !inPath(line[from])) {
			return true
		}
	}
}

// analyzeText judges what the lines name. It returns the blamed and the closest
// name about which there is a reason not to.
func (a *analyzer) analyzeText(lines []string) (all candidates, cleared *finding) {
	vague := map[int]bool{} // lines of which something is blamed already
	for _, ref := range extractReferences(lines) {
		if ref.vague && ref.kind != refVariable && vague[ref.line] {
			continue
		}
		f := a.analyzeReference(ref)
		switch {
		case f.refused:
			vague[ref.line] = true
			all.add(candidate{finding: f, distance: ref.line, named: true})
		case f.note != "" && cleared == nil && !ref.vague:
			cleared = &f
		}
	}
	return all, cleared
}

// namesAnotherCause tells whether a failing text names something else than a host that the policy
// refuses, and does not speak of the network: a host is then refused beside it.
func namesAnotherCause(likely candidates, lines []string, own int) bool {
	for _, line := range lines[:min(own, len(lines))] {
		if f, _ := matchFault(line); f == faultNetwork {
			return false
		}
	}
	return slices.ContainsFunc(likely, func(f candidate) bool { return f.hint.Axis != policy.AxisNet && f.distance < own })
}
