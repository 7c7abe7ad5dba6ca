package analysis

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/words"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// NamedReplaced returns the file of Evidence.Replaced that failing lines name, or the only one if they say that a file
// is stale. It returns "" if they say neither.
func NamedReplaced(c *Case, lines []string) string {
	for _, n := range words.Names(lines) {
		path, ok := c.Absolute(n.Text)
		if ok && n.Kind == words.Path && slices.Contains(c.Evidence.Replaced, c.Canonical(path)) {
			return c.Canonical(path)
		}
	}
	stale := func(line string) bool {
		line = strings.ToLower(line)
		return strings.Contains(line, "estale") || strings.Contains(line, "stale") && strings.Contains(line, "file handle")
	}
	if len(c.Evidence.Replaced) == 1 && slices.ContainsFunc(lines, stale) {
		return c.Evidence.Replaced[0]
	}
	return ""
}

// ReplacedFile returns the note about a file that was replaced. A mount and a rule of Landlock are for the file that
// was there at the start, and a domain never gets another.
func ReplacedFile(c *Case, path string) Finding {
	how := " was replaced after this server started, as editors do when they save"
	if c.Exists(path) == Absent {
		how = " was removed after this server started"
	}
	return Finding{
		Note: c.Show(path) + how + ". Its rule is for the file that was there then, and " + c.Who() + " gets no other one",
		Fix:  "restart the server, or allow the folder of the file",
	}
}

// StaleSocket returns the finding about a socket at which nothing listens: a rule for it would keep it from being removed.
func StaleSocket(c *Case, d policy.Denial) Finding {
	f := Refused(diagnostics.Certain, d.Axis, d.Target, d.Operation, "nothing listens at "+c.Show(d.Target)+" any more", change.Object{})
	f.Whole = true
	return f.Unfixable("remove it: rm " + show.Spelled([]string{c.Evidence.Redactor.Redact(d.Target)}))
}
