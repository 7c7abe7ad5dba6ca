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
		wanted := []grants.Grant{f.Grant}
		if f.Taken == nil {
			h.Grant = c.Writer.TOML(wanted)
		}
		flags, ok := c.Writer.Flags(wanted)
		h.Flags, h.Words = flags, c.Writer.GrantWords(wanted)
		switch {
		case c.Writer.NoTable:
			fixes = append(fixes, "its tools are listed under the default policy, which no table changes: set stateful = true and declare access for the whole server")
		case c.Evidence.FromCommandLine && ok:
			fixes = append(fixes, "start it with "+strings.Join(flags, " "))
		case c.Evidence.FromCommandLine:
			fixes = append(fixes, "no flag grants this: declare the server in a configuration file ("+whereWhole(c)+"), with "+c.Writer.Phrase(f.Grant))
		case f.Taken != nil:
			fixes = append(fixes, c.Writer.Insertion(f.Grant, *f.Taken, file(c))+report.AndTrust(c.Evidence.File))
		case len(h.Grant) > 0 && report.IsOwnFile(c.Evidence.File) && h.Words != nil:
			fixes = append(fixes, "grant "+strings.Join(grants.Typed(h.Words), " "))
		case len(h.Grant) > 0:
			fixes = append(fixes, "add "+c.Writer.Phrase(f.Grant))
		}
	}
	if h.Warning == "" && f.Grant.Variable != "" { // only here: a warning would keep the tokens of one failure apart
		h.Warning = policy.HarmOfVariable(f.Grant.Variable).Say(show.Name(f.Grant.Variable))
	}
	if h.Warning != "" {
		fixes = append(fixes, "careful: "+h.Warning)
	}
	h.Fix = show.Cut(strings.Join(fixes, "; "), 2*report.MaxCause)
	return h
}

func file(c *facts.Case) string {
	if c.Evidence.File == "" {
		return "the file"
	}
	return show.Line(c.Evidence.File)
}

func whereWhole(c *facts.Case) string {
	return "`" + show.Typed("mcp-jail why", c.Evidence.Server) + "` prints it whole"
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
