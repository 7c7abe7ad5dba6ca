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

// finding is a blamed name on its way into a diagnosis.
type finding struct {
	hint  Hint
	need  need
	fix   string
	close int  // 0 is the closest to the failure
	named bool // the text of the failure names it
	usual bool // it is refused also where nothing fails
}

// rank is how a finding relates to the failure. What the failing text itself
// names comes first, even before a fact that it does not name: that the jail
// refused a telemetry host is certain, that a tool failed because of it is not.
// Then come facts, what older output names, and last the facts that are usual.
func (f *finding) rank(own int) int {
	switch {
	case f.named && f.close < own:
		return 0
	case f.usual:
		return 3
	case f.hint.Attribution == Certain:
		return 1
	}
	return 2
}

// findings collects them without repetition.
type findings []finding

// add takes a finding, or joins it to the one about the same thing: the
// stronger attribution stays, with the nearest place.
func (fs *findings) add(f finding) {
	for i := range *fs {
		old := &(*fs)[i]
		if !old.same(f) {
			continue
		}
		old.close = min(old.close, f.close)
		old.named = old.named || f.named
		old.usual = old.usual && f.usual
		// A connection of which more is known makes the better rule.
		if f.need.saysMore(old.need) {
			old.need = f.need
			if old.hint.Attribution == f.hint.Attribution {
				old.hint = f.hint
			}
		}
		return
	}
	*fs = append(*fs, f)
}

func (f *finding) same(g finding) bool {
	if f.hint.Axis != g.hint.Axis && f.need != g.need {
		return false
	}
	if f.hint.Axis == policy.AxisNet && f.need.host != "" && f.need.host == g.need.host {
		return f.need == g.need || f.need.saysMore(g.need) || g.need.saysMore(f.need)
	}
	if !f.need.isZero() && f.need == g.need {
		return true
	}
	// A text often does not tell reading from writing, where the jail does.
	return f.hint.Target == g.hint.Target && (f.hint.Missing == g.hint.Missing || f.hint.Attribution != g.hint.Attribution)
}

// saysMore tells a need for a connection to a host from one for the host at all.
func (n need) saysMore(m need) bool {
	return n.host != "" && m == need{host: n.host} && n != m
}

// ordered drops what a better finding makes doubtful and sorts, the most likely
// cause of the failure first. The first own lines are the failure's own text.
func (fs findings) ordered(own int) findings {
	names := slices.ContainsFunc(fs, func(f finding) bool {
		return f.need.host != "" && !isAddress(f.need.host) && f.need.host != "localhost"
	})
	fs = slices.DeleteFunc(fs, func(f finding) bool {
		// An address beside a name that is refused is most likely that name's.
		return names && f.hint.Attribution == Likely && isAddress(f.need.host)
	})
	slices.SortStableFunc(fs, func(a, b finding) int {
		if r := a.rank(own) - b.rank(own); r != 0 {
			return r
		}
		if s := b.hint.Attribution.strength() - a.hint.Attribution.strength(); s != 0 {
			return s
		}
		return a.close - b.close
	})
	return fs[:min(len(fs), maxHints)]
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// chosen are the needs that the lines to paste cover. A server touches many
// things in passing: where the text names some of what was refused, the rest is
// left out, and so is what it is refused all the time. A thing that is risky to grant is
// never granted in passing.
func (fs findings) chosen() []need {
	named := slices.ContainsFunc(fs, func(f finding) bool { return f.named && !f.need.isZero() })
	rare := slices.ContainsFunc(fs, func(f finding) bool { return !f.usual })
	var needs []need
	for i, f := range fs {
		if named && !f.named || i > 0 && f.hint.Warning != "" || rare && f.usual && !f.named {
			continue
		}
		needs = append(needs, f.need)
	}
	return merged(needs)
}

// fromDenials judges what the jail recorded. Those that the text names come as
// close as the text is; the others follow, the latest first.
func (j *judge) fromDenials(lines []string) findings {
	var fs findings
	for i := len(j.ev.Denials) - 1; i >= 0; i-- {
		d := j.ev.Denials[i]
		v := j.denial(d)
		f := finding{hint: v.hint, need: v.need, fix: v.fix, close: len(lines) + len(j.ev.Denials) - i, usual: d.Usual || d.Operation == "send"}
		for at, line := range lines {
			if names(line, d) {
				f.close, f.named = at, true
				break
			}
		}
		fs.add(f)
	}
	return fs
}

// names tells whether a line of text names the target of a denial.
func names(line string, d Denial) bool {
	target := d.Target
	if d.Axis == policy.AxisNet {
		if host, _, _, ok := splitEndpoint(target); ok {
			target = host
		}
	}
	return len(target) > 2 && strings.Contains(line, target)
}

// fromText judges what the lines name. It returns the blamed and the closest
// name about which there is a reason not to.
func (j *judge) fromText(lines []string) (fs findings, cleared *verdict) {
	vague := map[int]bool{} // lines of which something is blamed already
	for _, m := range mentions(lines) {
		if m.vague && m.kind != mentionVariable && vague[m.line] {
			continue
		}
		v := j.mention(m)
		switch {
		case v.blamed:
			vague[m.line] = true
			fs.add(finding{hint: v.hint, need: v.need, fix: v.fix, close: m.line, named: true})
		case v.note != "" && cleared == nil && !m.vague:
			cleared = &v
		}
	}
	return fs, cleared
}
