package paths

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/grants"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// NameDenial names the user's own rule that refuses everything at what a finding is about: a flag
// --deny, or a rule without rights. No grant remains that the rule would still beat.
func NameDenial(c *facts.Case, f facts.Finding) facts.Finding {
	if f.Grant.Path == "" {
		return f
	}
	e, ok := refusingRule(c, f.Grant.Path, f.Grant.Rights)
	if target, absolute := c.Absolute(f.Hint.Target); !ok && absolute {
		e, ok = refusingRule(c, target, f.Grant.Rights)
	}
	if !ok {
		return f
	}
	rule := show.Line(c.Evidence.Redactor.Redact(e.Rule))
	what := " refuses everything there"
	if e.Rights != 0 {
		what = " keeps it from being changed"
	}
	if f.Hint.Cause != "" {
		f.Hint.Cause += ", because " + rule + what
	}
	return f.Unfixable("leave out " + rule + ", if the server may have " + c.Show(e.Path))
}

// refusingRule returns the denial that holds at a path. One of writing refuses the other rights to nothing.
func refusingRule(c *facts.Case, path string, rights policy.Rights) (e policy.Entry, ok bool) {
	for _, e := range c.Profile.Entries {
		if grants.IsDenial(e) && policy.Within(path, e.Path) && (e.Rights == 0 || rights&policy.Write != 0) {
			return e, true
		}
	}
	return e, false
}

// cannotRemove returns the finding about a removal that no further rule makes possible: the host has
// no such file either, or a rule names the directory.
func cannotRemove(c *facts.Case, path, operation, cause string) (f facts.Finding, ok bool) {
	if !strings.HasPrefix(operation, "remove") {
		return f, false
	}
	f = facts.Refused(report.Certain, policy.AxisFs, path, facts.Right(policy.Delete), cause, grants.Grant{})
	if c.Exists(path) == facts.Absent {
		f.Fix = absent(c, path)
		return f, true
	}
	e, found := c.Profile.Find(path)
	if !found || e.Path != path || e.Kind != policy.KindDir || e.Origin != policy.OriginRule {
		return f, false
	}
	f.Hint.Explain = report.PageFsMove
	return f.Unfixable("the path of a rule stays in its place: leave out " + show.Line(c.Evidence.Redactor.Redact(e.Rule)) + ", and grant the directory around it"), true
}
