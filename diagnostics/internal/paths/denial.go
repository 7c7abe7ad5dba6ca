package paths

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/grants"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/words"
	"github.com/mcp-jail/mcp-jail/policy"
)

// AnalyzeDenial analyzes a denial whose target is a path.
func AnalyzeDenial(c *facts.Case, d policy.Denial, cause string) facts.Finding {
	path, ok := c.Absolute(d.Target)
	if !ok {
		return facts.Refused(report.Certain, d.Axis, d.Target, d.Operation, cause, grants.Grant{})
	}
	want := words.RightsOf(d.Operation)
	if want == 0 {
		want = policy.Read
	}
	makesDir, dials := strings.HasPrefix(d.Operation, "mkdir"), d.Axis == policy.AxisIPC
	missing := missingRights(c, path, words.Name{Text: path, Want: want, Fault: words.Refused})
	private := ""
	if dials {
		private, _ = c.JailPlace(path)
	}
	if missing == 0 && private != "" {
		// The jail's own directory is writable and does not contain the socket.
		missing = policy.Update
		cause += ", which exists on the host: the jail has a " + private + " of its own"
	}
	if missing == 0 {
		return grantedDenial(c, d, facts.Refused(report.Certain, d.Axis, path, facts.Right(want), cause, grants.Grant{}))
	}
	// These fail outside the jail too: creating a file where a directory is, and
	// removing a file that does not exist.
	if want != policy.Read && want&policy.Delete == 0 && c.Exists(path+"/.") == facts.Present {
		makesDir = true
	}
	if f, ok := cannotRemove(c, path, d.Operation, cause); ok {
		return f
	}
	f, beside := attributeCompanion(c, report.Certain, path, missing, cause)
	switch {
	case beside && !dials:
	case strings.HasPrefix(d.Operation, "rename"):
		f = attributeMove(c, report.Certain, path, cause)
	case want == policy.Delete:
		f = attributeParent(c, report.Certain, path, policy.Write, cause)
	default:
		f = Attribute(c, report.Certain, path, missing, makesDir, cause)
	}
	f.Hint.Axis = d.Axis
	if n := f.Grant; n.Path != "" && !n.Create && private == "" && n.Rights&^c.Profile.RightsAt(n.Path) == 0 && !isReserved(c, n.Path) {
		f.Grant, f.Hint.Warning = grants.Grant{}, ""
		f.Hint.Explain = report.PageFsMove
		f.Fix = "the policy already grants this, but the path of a rule or a protected name cannot be moved or removed: see " + c.PlanCommand()
	}
	return Withhold(c, forSocket(c, f, dials), dials)
}

// grantedDenial completes the finding about a denial that the profile allows, so that no line would
// help.
func grantedDenial(c *facts.Case, d policy.Denial, f facts.Finding) facts.Finding {
	switch {
	case strings.HasPrefix(d.Operation, "rename"):
		// The record holds only the new name. The refusal concerns the old name.
		f.Hint.Explain = report.PageFsMove
		f.Fix = "the new name is granted, but the old name cannot be moved: the server has no right to delete it, or it is or contains a protected name or the path of a rule; copy it instead, or see " + c.PlanCommand()
	case c.Mac():
		f.Fix, f.NoLine = "the policy grants this, but on macOS the jail is narrower beside protected names and for links: see "+c.PlanCommand(), true
	default:
		f.Fix = "the policy already grants this: run `mcp-jail doctor` and report the problem"
	}
	return f
}
