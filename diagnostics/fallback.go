package diagnostics

import (
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/network"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/paths"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

func fallback(d *Diagnosis, c *facts.Case, lines, own []string, cleared *facts.Finding) {
	// The surest first: what the server says of itself, what this machine could not reach, what the
	// policy is known not to refuse, and last what the text looks like.
	f, ok := paths.OutsideRoots(c, lines)
	unreached, failed := network.Unreached(c, own)
	listens, waits := network.Listens(c)
	distrusted, distrusts := untrusted(c, own)
	if !ok && !failed && !waits && !distrusts && cleared == nil {
		if known := ranked(c, knownCauses(c, own), len(own)); len(known) > 0 {
			setCauses(d, c, known, len(own))
			return
		}
	}
	switch {
	case ok:
	case distrusts:
		d.Attribution = Possible
		f = distrusted
	case failed:
		f = unreached
	case waits:
		d.Attribution = Possible
		f = listens
	case cleared != nil && cleared.Hint.Attribution == Possible:
		d.Attribution = Possible
		f = *cleared
	default:
		// The file in the error of a limit is most likely granted. Another name that
		// the policy does not refuse has another cause.
		if f, ok = heuristics(c, lines); ok && (cleared == nil || f.Hint.Axis == policy.AxisLimits) {
			d.Attribution = Possible
		} else if cleared == nil || serverAnswered(c) && !cleared.AboutPolicy {
			return
		} else {
			f = *cleared
		}
	}
	f = proposable(c, f)
	d.Cause = show.Cut(f.Note, report.MaxCause)
	f.Hint.Attribution = d.Attribution
	f.Hint.Cause = d.Cause
	h := hint(c, f)
	d.Fix, d.NoLine = h.Fix, f.NoLine
	switch d.Explain = h.Explain; {
	case d.Explain != "" || d.Code == CodeExec:
	case d.Attribution == Possible:
		d.Explain = PagePossible
	default:
		d.Explain = PageElsewhere
	}
	if !f.Grant.IsZero() {
		d.Words = h.Words
	}
}

// serverAnswered reports whether the server itself has responded. A failure in which the
// jail had no part is then left to the server's own message.
func serverAnswered(c *facts.Case) bool {
	ev := c.Evidence
	return ev.Exit == nil && ev.Timeout == 0 && ev.Start == nil && ev.Stage != StageStartup
}
