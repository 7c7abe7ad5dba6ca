package paths

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/policy"
)

// homeOfServer explains that the server itself refuses a path in its private HOME: the model wrote
// a "~" in a call, and meant the user's home. ok is false for any other path.
func homeOfServer(c *facts.Case, path string) (f facts.Finding, ok bool) {
	home := c.Profile.Home
	if !c.Profile.HomePrivate || home == "" || c.Evidence.UserHome == "" || !policy.Within(path, home) {
		return f, false
	}
	return facts.Finding{
		Note: "the server itself refuses " + c.Show(path) + ", which is in its private HOME: in the jail a ~ does not stand for your home directory",
		Fix:  "write the whole path into the call, " + c.Quote(c.Evidence.UserHome+path[len(home):]) + "; no policy line changes this",
		Hint: report.Hint{Explain: report.PagePathArg},
	}, true
}

// OutsideRoots explains that the server itself refuses a path because it is outside the
// roots that the client gave it. ok is false if the text does not say so.
func OutsideRoots(c *facts.Case, lines []string) (f facts.Finding, ok bool) {
	path := refusedByServer(c, lines)
	if f, ok = homeOfServer(c, path); ok {
		return f, true
	}
	if path == "" || len(c.Evidence.Roots) == 0 || rootOf(c, path) != "" {
		return f, false
	}
	var roots []string
	for _, r := range c.Evidence.Roots[:min(len(c.Evidence.Roots), 5)] {
		roots = append(roots, c.Quote(r))
	}
	return facts.Finding{
		Note: "the server itself refuses " + c.Show(path) + ": the client has given it " + strings.Join(roots, ", ") + " as its roots, and it allows nothing outside of them",
		Fix:  "open that directory in the client as well; no policy line changes this",
	}, true
}

// UngrantedRoot returns the finding for a path that the server itself refuses although it
// is in one of the client's roots. Servers ignore the roots that they cannot see.
func UngrantedRoot(c *facts.Case, lines []string) facts.Finding {
	path := refusedByServer(c, lines)
	root := rootOf(c, path)
	if root == "" || c.Allows(policy.OpRead, c.Canonical(path)) || c.Exists(root) != facts.Present || IsTooWide(c, c.Canonical(root)) {
		return facts.Finding{}
	}
	return withhold(c, Attribute(c, report.Likely, c.Canonical(root), policy.Read, false,
		"the client has given the server "+c.Show(root)+" as a root, which the policy does not let it read"), false)
}

func refusedByServer(c *facts.Case, lines []string) string {
	for _, line := range lines {
		if !said.ContainsAny(strings.ToLower(line), said.AllowListPhrases) {
			continue
		}
		// The first path of such a line is the refused one.
		for _, ref := range said.VaguePaths(line, said.Refused) {
			if path, ok := c.Absolute(ref.Name); ok && !c.Escaped.Breaks(line, ref) {
				return path
			}
		}
	}
	return ""
}

func rootOf(c *facts.Case, path string) string {
	for _, r := range c.Evidence.Roots {
		if path != "" && (policy.Within(path, r) || policy.Within(c.Canonical(path), c.Canonical(r))) {
			return r
		}
	}
	return ""
}
