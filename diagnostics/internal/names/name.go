package names

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/grants"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/policy"
)

// AnalyzeVariable analyzes a name that may be an environment variable. Only a variable
// that is set on the host and was withheld points to the jail.
func AnalyzeVariable(c *facts.Case, ref said.Reference) facts.Finding {
	if slices.Contains(c.Profile.Withheld, ref.Name) {
		return AttributeVariable(c, report.Likely, ref.Name, "the server's message names the variable "+ref.Name+", which is set but not granted")
	}
	// Not withheld: only a variable that the server asks for, and does not have, explains anything.
	set := slices.ContainsFunc(c.Profile.Env, func(v policy.Variable) bool { return v.Name == ref.Name })
	if set || !ref.Asked {
		return facts.Finding{}
	}
	if slices.Contains(c.Evidence.Unset, ref.Name) {
		return facts.Finding{
			AboutPolicy: true,
			Note:        "the variable " + ref.Name + " is granted but not set where mcp-jail was started",
			Fix:         "set " + ref.Name + " in the client's configuration of this server",
			Hint:        report.Hint{Explain: report.PageEnv},
		}
	}
	if !strings.Contains(ref.Name, "_") {
		return facts.Finding{}
	}
	return facts.Finding{
		Note:  "the variable " + ref.Name + " is not set where mcp-jail was started",
		Fix:   "set " + ref.Name + " in the client's configuration of this server, and grant it",
		Grant: grants.Grant{Variable: ref.Name},
		Hint:  report.Hint{Explain: report.PageEnv},
	}
}

func AttributeVariable(c *facts.Case, sure report.Attribution, name, cause string) facts.Finding {
	f := facts.Refused(sure, policy.AxisEnv, name, "variable", cause, grants.Grant{Variable: name})
	if !said.IsVariable(name) {
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

// IsUnlisted reports whether the filesystem rules let the server start a file and its list
// of commands does not.
func IsUnlisted(c *facts.Case, path string, ref said.Reference) bool {
	if c.Profile.Programs == nil || ref.Fault != said.Refused || slices.Contains(c.Profile.Programs, path) || !c.RightsAt(path).Has(policy.Execute) {
		return false
	}
	// "x: Permission denied" does not name the operation. For a file of the system it
	// can only have been the start.
	return ref.Want.Has(policy.Execute) || ref.Want == 0 && c.IsSystem(path)
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
