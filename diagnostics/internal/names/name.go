package names

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/grants"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/words"
	"github.com/mcp-jail/mcp-jail/policy"
)

// NamedVariable returns the finding about a variable that a failing line names: it is set and not
// granted, or granted and not set.
func NamedVariable(c *facts.Case, name string) facts.Finding {
	switch {
	case slices.Contains(c.Profile.Withheld, name):
		return AttributeVariable(c, report.Likely, name, c.Who()+" does not get the variable "+name)
	case slices.Contains(c.Evidence.Unset, name):
		return facts.Finding{
			Note:        "the variable " + name + " is granted but not set where mcp-jail was started",
			Fix:         "set " + name + " in the client's configuration of this server",
			AboutPolicy: true, Hint: report.Hint{Explain: report.PageEnv},
		}
	}
	return facts.Finding{}
}

func AttributeVariable(c *facts.Case, sure report.Attribution, name, cause string) facts.Finding {
	f := facts.Refused(sure, policy.AxisEnv, name, "variable", cause, grants.Grant{Variable: name})
	if !words.IsVariable(name) {
		f.Grant = grants.Grant{}
	}
	return f
}

func AttributeProgram(c *facts.Case, sure report.Attribution, name, cause string) facts.Finding {
	f := facts.Refused(sure, policy.AxisProcess, name, "program", cause, grants.Grant{Program: name})
	if !grants.Writable(name) || strings.ContainsAny(name, "*\n") {
		f.Grant = grants.Grant{}
	}
	return f
}

// CommandName returns the name of the program at path in a table of commands: its base
// name if PATH finds it there, else the path.
func CommandName(c *facts.Case, path string) string {
	if name := filepath.Base(path); Finds(c, name, path) {
		return name
	}
	return path
}

// Finds reports whether PATH finds the program at path by a name.
func Finds(c *facts.Case, name, path string) bool {
	for _, dir := range filepath.SplitList(SearchPath(c)) {
		if file := filepath.Join(dir, name); filepath.IsAbs(dir) && c.Exists(file) != facts.Absent {
			return c.Canonical(file) == path || c.Evidence.Canonical != nil && c.Evidence.Canonical(file) == path
		}
	}
	return false
}

func IsListed(c *facts.Case, name string) bool {
	return slices.ContainsFunc(c.Profile.Programs, func(p string) bool { return filepath.Base(p) == name })
}

// SearchPath returns the directories to search for programs: those of the server, then of
// the host, then of npm's scripts.
func SearchPath(c *facts.Case) string {
	path := ""
	for _, v := range c.Profile.Env {
		if v.Name == "PATH" {
			path = v.Value
		}
	}
	path += string(filepath.ListSeparator) + c.Evidence.SearchPath
	if c.Profile.Workspace != "" {
		path += string(filepath.ListSeparator) + filepath.Join(c.Profile.Workspace, "node_modules", ".bin")
	}
	return path
}
