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
	hint       Hint
	grant      grant
	fix        string
	distance   int  // 0 is the closest to the failure
	named      bool // the text of the failure names it
	background bool // it is refused also where nothing fails
	incidental bool // a host, where the failing text speaks of something else
}

// rank is how a finding relates to the failure. What the jail has on record outranks
// what a text seems to say, first what the text names of it. Then comes what the failing
// text itself names, what stands beside that, what older output names, and last what is
// refused all the time.
func (f *candidate) rank(own int) int {
	said := f.named && f.distance < own
	certain := f.hint.Attribution == Certain
	switch {
	case certain && said:
		return 0
	case f.background:
		return 5
	case certain && !f.incidental:
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
func (fs *candidates) add(f candidate) {
	for i := range *fs {
		old := &(*fs)[i]
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
	*fs = append(*fs, f)
}

func (f *candidate) same(g candidate) bool {
	if f.hint.Axis != g.hint.Axis && f.grant != g.grant {
		return false
	}
	if f.hint.Axis == policy.AxisNet && f.grant.host != "" && f.grant.host == g.grant.host {
		return f.grant == g.grant || f.grant.refines(g.grant) || g.grant.refines(f.grant)
	}
	if !f.grant.isZero() && f.grant == g.grant {
		return true
	}
	// A text often does not tell reading from writing, where the jail does.
	return f.hint.Target == g.hint.Target && (f.hint.Missing == g.hint.Missing || f.hint.Attribution != g.hint.Attribution)
}

// refines tells a need for a connection to a host from one for the host at all.
func (n grant) refines(m grant) bool {
	return n.host != "" && m == grant{host: n.host} && n != m
}

// ranked drops what a better finding makes doubtful and sorts, the most likely
// cause of the failure first. The first own lines are the failure's own text.
func (fs candidates) ranked(own int) candidates {
	names := slices.ContainsFunc(fs, func(f candidate) bool {
		return f.grant.host != "" && !isAddress(f.grant.host) && f.grant.host != "localhost"
	})
	fs = slices.DeleteFunc(fs, func(f candidate) bool {
		// An address beside a name that is refused is most likely that name's.
		return names && f.hint.Attribution == Likely && isAddress(f.grant.host)
	})
	slices.SortStableFunc(fs, func(a, b candidate) int {
		if r := a.rank(own) - b.rank(own); r != 0 {
			return r
		}
		if s := b.hint.Attribution.strength() - a.hint.Attribution.strength(); s != 0 {
			return s
		}
		return a.distance - b.distance
	})
	return fs[:min(len(fs), maxHints)]
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// grants are the needs that the lines to paste cover. A server touches many things in
// passing: where the text names some of what the jail has on record, the rest of that is
// left out, and so is what it is refused all the time. What the failing text itself names
// is added. A thing that is risky to grant is never granted in passing.
func (fs candidates) grants(own int) []grant {
	said := func(f candidate) bool { return f.named && f.distance < own }
	recorded := slices.ContainsFunc(fs, func(f candidate) bool { return f.hint.Attribution == Certain && said(f) && !f.grant.isZero() })
	close := slices.ContainsFunc(fs, func(f candidate) bool {
		return (said(f) || f.hint.Attribution == Certain && !f.incidental) && !f.grant.isZero()
	})
	rare := slices.ContainsFunc(fs, func(f candidate) bool { return !f.background })
	var needs []grant
	for i, f := range fs {
		switch {
		case i > 0 && f.hint.Warning != "":
		case said(f):
			needs = append(needs, f.grant)
		case f.incidental, f.background && rare, f.hint.Attribution == Certain && recorded, f.hint.Attribution != Certain && close:
		default:
			needs = append(needs, f.grant)
		}
	}
	return mergeGrants(needs)
}

// analyzeDenials judges what the jail recorded. Those that the text names come as close as
// the text is; the others follow, the first refusal first: what comes behind it is often
// there to clean up.
func (j *analyzer) analyzeDenials(lines []string) candidates {
	var fs candidates
	for i, d := range j.ev.Denials {
		if j.cleansUp(d, j.ev.Denials[:i]) {
			continue
		}
		v := j.analyzeDenial(d)
		f := candidate{hint: v.hint, grant: v.grant, fix: v.fix, distance: len(lines) + i, background: d.Background || d.Operation == "send"}
		for at, line := range lines {
			if j.namesTarget(line, d) {
				f.distance, f.named = at, true
				break
			}
		}
		fs.add(f)
	}
	return fs
}

// cleansUp tells the removal of what could not be made before.
func (j *analyzer) cleansUp(d Denial, before []Denial) bool {
	return strings.HasPrefix(d.Operation, "remove") && slices.ContainsFunc(before, func(b Denial) bool {
		return b.Axis == d.Axis && !strings.HasPrefix(b.Operation, "remove") && (b.Target == d.Target || j.exists(d.Target) == absent)
	})
}

// namesTarget tells whether a line of text names the target of a denial, a path also as it is
// called from the working directory.
func (j *analyzer) namesTarget(line string, d Denial) bool {
	target := d.Target
	if dir := j.profile.Dir; d.Axis == policy.AxisFs && dir != "" && dir != "/" && target != dir && policy.Within(target, dir) {
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
func (j *analyzer) analyzeText(lines []string) (fs candidates, cleared *finding) {
	vague := map[int]bool{} // lines of which something is blamed already
	for _, m := range extractReferences(lines) {
		if m.vague && m.kind != refVariable && vague[m.line] {
			continue
		}
		v := j.analyzeReference(m)
		switch {
		case v.refused:
			vague[m.line] = true
			fs.add(candidate{hint: v.hint, grant: v.grant, fix: v.fix, distance: m.line, named: true})
		case v.note != "" && cleared == nil && !m.vague:
			cleared = &v
		}
	}
	return fs, cleared
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
