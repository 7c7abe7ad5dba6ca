package diagnostics

import (
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
	h.Cause = show.Cut(h.Cause, report.MaxCause)
	// Only now: a redacted name would match another rule.
	h.Target = show.Cut(strings.ToValidUTF8(c.Evidence.Redactor.Redact(h.Target), "\ufffd"), report.MaxTarget)
	var fixes []string
	if f.Fix != "" {
		fixes = append(fixes, f.Fix)
	}
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
	h.Fix = show.Cut(strings.Join(fixes, "; "), 2*report.MaxCause)
	return h
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
