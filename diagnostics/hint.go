package diagnostics

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/grants"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/paths"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

func hint(c *facts.Case, f facts.Finding) Hint {
	h := f.Hint
	if h.Explain == "" {
		h.Explain = pageOf(c, h)
	}
	h.Cause, h.May = show.Cut(h.Cause, report.MaxCause), show.Cut(mayOnly(c, f), report.MaxCause)
	// Only now: a redacted name would match another rule.
	h.Target = show.Cut(strings.ToValidUTF8(c.Evidence.Redactor.Redact(h.Target), "\ufffd"), report.MaxTarget)
	fixes := []string{f.Fix}
	if !f.Grant.IsZero() {
		h.Words = c.Writer.Words([]grants.Grant{f.Grant})
		switch {
		case c.Writer.NoTable:
			fixes = append(fixes, "its tools are listed under the default policy, which no grant changes: set stateful = true")
		case len(h.Words) == 0:
			fixes = append(fixes, "only a rule that the user writes allows it")
		}
	}
	if h.Warning == "" && f.Grant.Variable != "" { // only here: a warning would keep the tokens of one failure apart
		h.Warning = policy.HarmOfVariable(f.Grant.Variable).Say(show.Name(f.Grant.Variable))
	}
	h.Fix = show.Cut(report.Joined(fixes...), 2*report.MaxCause)
	return h
}

// mayOnly says what the server may do instead of what the jail has recorded, or "" if that is not about its rights.
func mayOnly(c *facts.Case, f facts.Finding) string {
	h := f.Hint
	if h.Attribution != Certain || h.Whole {
		return ""
	}
	switch who := c.Who(); {
	case h.Axis == policy.AxisNet && (f.Hint.Explain == "" || f.Hint.Explain == PageNetHost) && h.Missing != "inbound":
		switch {
		case h.Target != "":
			return who + " may not reach " + c.Name(h.Target)
		case !slices.ContainsFunc(c.Profile.Net, func(r policy.NetRule) bool { return r.Allow }):
			return who + " has no network"
		}
	case h.Axis == policy.AxisEnv:
		return who + " does not get the variable " + c.Name(h.Target)
	case h.Axis == policy.AxisFs && filepath.IsAbs(h.Target):
		at := cmp.Or(f.Grant.Path, h.Target)
		missing := map[string]policy.Rights{"read": policy.Read, "write": policy.Write, "execute": policy.Execute}[h.Missing]
		return c.Lacks(at, missing)
	}
	return ""
}

func pageOf(c *facts.Case, h Hint) Page {
	switch h.Axis {
	case policy.AxisFs:
		switch {
		case h.Missing == facts.Right(policy.Execute):
			return PageExecute
		case h.Missing != facts.Right(policy.Write) && paths.IsSensitive(c, h.Target):
			return PageFsSensitive
		case h.Missing != facts.Right(policy.Write):
			return PageFsRead
		case paths.WriteForbidden(c, h.Target) != "":
			return PageFsProtected
		}
		return PageFsWrite
	case policy.AxisNet:
		return PageNetHost
	case policy.AxisIPC:
		return PageSocket
	case policy.AxisEnv:
		return PageEnv
	case policy.AxisProcess:
		switch h.Missing {
		case facts.Right(policy.Execute):
			return PageExecute
		case "jail":
			return PageJail
		}
		return PageProgram
	}
	return ""
}
