package paths

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/policy"
)

// CrossDevice recognises a rename or a link across the edge of a mount: between two rules, or into a
// git repository in a grant. No right is missing for it.
func CrossDevice(c *facts.Case, lines []string) (f facts.Finding, ok bool) {
	if c.Mac() { // no path is a mount of a jail
		return f, false
	}
	for _, line := range lines {
		if !said.HasWord(line, "EXDEV") && !strings.Contains(strings.ToLower(line), "cross-device link") {
			continue
		}
		f = facts.Finding{
			Note: c.ServerSaid(line) + "; files cannot be moved or linked between the paths of two rules, as between two filesystems",
			Fix:  "copy the file, or create it in the target directory; inside of the workspace, one rule for both paths also helps",
			Hint: report.Hint{Explain: report.PageFsMove},
		}
		if repositories := mountedRepositories(c, line); repositories != nil {
			f.Note = c.ServerSaid(line) + "; files cannot be moved or linked into or out of a git repository, which is a mount of its own in the jail, because git's files in it are protected: " + report.InWords(repositories)
			f.Fix = "copy the file and remove the old one, as mv does, or create it in the repository; no rule changes this"
		}
		return f, true
	}
	return facts.Finding{}, false
}

// mountedRepositories returns the repositories in grants that a line names, or all of them if
// it names no path in any.
func mountedRepositories(c *facts.Case, line string) (named []string) {
	var all []string
	for _, e := range c.Profile.Entries {
		dir, _, found := strings.Cut(e.Path, "/.git/")
		around, covered := c.Profile.Find(dir)
		if shown := c.Show(dir); found && e.Origin == policy.OriginProtected && covered && around.Path != dir && !slices.Contains(all, shown) {
			all = append(all, shown)
			if strings.Contains(line, c.Writer.Display(dir)+"/") || strings.Contains(line, dir+"/") {
				named = append(named, shown)
			}
		}
	}
	if named == nil {
		return all
	}
	return named
}
