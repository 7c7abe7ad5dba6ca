package diagnose

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/analysis"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

func hint(c *analysis.Case, f analysis.Finding) diagnostics.Hint {
	h := f.Hint
	if h.Explain == "" {
		h.Explain = pageOf(c, h)
	}
	h.Cause, h.Fix = show.Cut(h.Cause, diagnostics.MaxCause), show.Cut(f.Fix, 2*diagnostics.MaxCause)
	// Only now: a redacted name would match another rule.
	h.Target = show.Cut(strings.ToValidUTF8(c.Evidence.Redactor.Redact(h.Target), "\ufffd"), diagnostics.MaxTarget)
	return h
}

// sayRefused says what the server may not do, such as "notes may not reach api.test", if that is why the jail refused what it has
// recorded. Otherwise it returns "".
func sayRefused(c *analysis.Case, f analysis.Finding) string {
	h := f.Hint
	if h.Attribution != diagnostics.Certain || f.Whole || h.Proposal.Denial() != "" {
		return ""
	}
	switch who := c.Who(); {
	case h.Axis == policy.AxisNet && (f.Hint.Explain == "" || f.Hint.Explain == diagnostics.PageNetHost) && h.Missing != "inbound":
		switch {
		case h.Target != "":
			return who + " may not reach " + c.Name(h.Target)
		case !slices.ContainsFunc(c.Profile.Net, func(r policy.NetRule) bool { return r.Allow }):
			return who + " has no network"
		}
	case h.Axis == policy.AxisIPC && filepath.IsAbs(h.Target):
		return who + " may not connect to " + c.Show(h.Target)
	case h.Axis == policy.AxisEnv:
		return who + " does not get the variable " + c.Name(h.Target)
	case h.Axis == policy.AxisFs && filepath.IsAbs(h.Target):
		at := cmp.Or(f.Object.Fs.Path, h.Target)
		missing := map[string]policy.Rights{"read": policy.Read, "write": policy.Write, "execute": policy.Execute}[h.Missing]
		return c.Lacks(at, missing)
	}
	return ""
}

func pageOf(c *analysis.Case, h diagnostics.Hint) diagnostics.Page {
	switch h.Axis {
	case policy.AxisFs:
		p := h.Proposal
		switch {
		case h.Missing == analysis.RightName(policy.Execute):
			return diagnostics.PageExecute
		case h.Missing != analysis.RightName(policy.Write) && (p.Is(policy.WhySensitive, policy.WhyLogin, policy.WhyKeyName) || p.IsZero() && c.IsSensitive(h.Target)):
			return diagnostics.PageFsSensitive
		case h.Missing != analysis.RightName(policy.Write):
			return diagnostics.PageFsRead
		case p.Verdict() == change.Never && len(p.Reasons) > 0 || p.IsZero() && c.IsNever(h.Target, policy.Write):
			return diagnostics.PageFsProtected
		}
		return diagnostics.PageFsWrite
	case policy.AxisNet:
		return diagnostics.PageNetHost
	case policy.AxisIPC:
		return diagnostics.PageSocket
	case policy.AxisEnv:
		return diagnostics.PageEnv
	case policy.AxisProcess:
		switch h.Missing {
		case analysis.RightName(policy.Execute):
			return diagnostics.PageExecute
		case "jail":
			return diagnostics.PageJail
		}
		return diagnostics.PageProgram
	}
	return ""
}
