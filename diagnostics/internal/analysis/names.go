package analysis

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/words"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// NamedVariable returns the finding about a variable that a failing line names: it is set and not
// granted, or granted and not set.
func NamedVariable(c *Case, name string) Finding {
	switch {
	case slices.Contains(c.Profile.Withheld, name):
		return AttributeVariable(c, diagnostics.Likely, name, c.Who()+" does not get the variable "+name)
	case slices.Contains(c.Evidence.Unset, name) && c.Evidence.Host.Source(name) != "":
		return Finding{
			Note: "the variable " + name + " is granted from " + c.Show(c.Evidence.Host.Source(name)) + ", which does not set it",
			Fix:  "set " + name + " in that file, and restart the server",
			Hint: diagnostics.Hint{Explain: diagnostics.PageEnv},
		}
	case slices.Contains(c.Evidence.Unset, name):
		return Finding{
			Note: "the variable " + name + " is granted but not set where mcp-jail was started",
			Fix:  "set " + name + " in the client's configuration of this server",
			Hint: diagnostics.Hint{Explain: diagnostics.PageEnv},
		}
	}
	for _, e := range c.Profile.Entries {
		if e.Kind == policy.KindFile && e.Rights == 0 && strings.HasPrefix(filepath.Base(e.Path), ".env") && c.Evidence.Host.Holds(e.Path, name) {
			return inHiddenFile(c, name, e.Path)
		}
	}
	return Finding{}
}

// inHiddenFile returns the finding about a variable that a hidden file has. Words of a server do not lead to a secret,
// so the user types which one.
func inHiddenFile(c *Case, name, file string) Finding {
	f := Refused(diagnostics.Likely, policy.AxisEnv, name, "variable", c.Name(name)+" is in "+c.Show(file)+", which the jail hides from "+c.Who(), change.Object{})
	f.Hint.Explain = diagnostics.PageEnv
	grant := show.Typed("mcp-jail grant", c.Evidence.Server) + " "
	fix := "to give it all of the file, run " + grant + show.Flag("--read", c.Show(file))
	if policy.CheckEnvRule(policy.EnvRule{Name: name, Read: true, File: file}) == nil {
		fix += ". To give it this variable alone: " + grant + show.Typed("--env", name)
	}
	return f.Unfixable(fix)
}

func AttributeVariable(c *Case, sure diagnostics.Attribution, name, cause string) Finding {
	f := Refused(sure, policy.AxisEnv, name, "variable", cause, change.Object{Env: name})
	if !words.IsVariable(name) {
		f.Object = change.Object{}
	}
	return f
}

func attributeProgram(c *Case, sure diagnostics.Attribution, name, cause string) Finding {
	f := Refused(sure, policy.AxisProcess, name, "program", cause, change.Object{Program: name})
	if !isWritable(name) || strings.ContainsAny(name, "*\n") {
		f.Object = change.Object{}
	}
	return f
}

// commandName returns the name of the program at path in a table of commands: its base
// name if PATH finds it there, else the path.
func commandName(c *Case, path string) string {
	if name := filepath.Base(path); finds(c, name, path) {
		return name
	}
	return path
}

// finds reports whether PATH finds the program at path by a name.
func finds(c *Case, name, path string) bool {
	for _, dir := range filepath.SplitList(searchPath(c)) {
		if file := filepath.Join(dir, name); filepath.IsAbs(dir) && c.Exists(file) != Absent {
			return c.Canonical(file) == path || c.Evidence.Host.Canonical(file) == path
		}
	}
	return false
}

func isListed(c *Case, name string) bool {
	return slices.ContainsFunc(c.Profile.Programs, func(p string) bool { return filepath.Base(p) == name })
}

// searchPath returns the directories to search for programs: those of the server, then of
// the host, then of npm's scripts.
func searchPath(c *Case) string {
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

// NamedProgram returns the finding that a program, which a failing line names, is on this machine, and
// the jail does not have it or does not start it.
func NamedProgram(c *Case, name string) Finding {
	outside := "" // the first file of that name that may not be executed
	for _, dir := range filepath.SplitList(searchPath(c)) {
		if !filepath.IsAbs(dir) {
			continue
		}
		found := c.Canonical(filepath.Join(dir, name))
		switch {
		case c.Exists(found) != Present || c.Exists(found+"/.") == Present || !c.may(found, policy.Execute):
			continue
		case c.rightsAt(found).Has(policy.Execute): // as execvp would: the first one
			if c.Profile.Programs != nil && !isListed(c, name) {
				return attributeProgram(c, diagnostics.Likely, name, c.Who()+" may not start "+c.Name(name)+", which access.commands does not list")
			}
			return Finding{}
		case outside == "":
			outside = filepath.Join(dir, name)
		}
	}
	if outside == "" {
		return Finding{}
	}
	f := InHome(c, diagnostics.Likely, outside, policy.Execute, c.Who()+" may not start "+c.Show(outside))
	f.Hint.Axis = policy.AxisProcess
	return f
}

// AnalyzeExec analyzes a denial to start a program.
func AnalyzeExec(c *Case, d policy.Denial, cause string) Finding {
	if d.Reason == policy.DeniedArguments {
		return analyzeStartArguments(c, d)
	}
	path, ok := c.Absolute(d.Target)
	if !ok || !strings.Contains(d.Target, "/") {
		return attributeProgram(c, diagnostics.Certain, d.Target, cause)
	}
	if c.rightsAt(path).Has(policy.Execute) && c.Profile.Programs != nil {
		f := attributeProgram(c, diagnostics.Certain, commandName(c, path), cause)
		f.Hint.Target = path
		return f
	}
	f := AttributePath(c, diagnostics.Certain, path, policy.Execute, false, cause)
	f.Hint.Axis = policy.AxisProcess
	return f
}

// analyzeStartArguments analyzes the start of a program whose rules do not list its arguments, or the
// name that it got. No flag of grant says that.
func analyzeStartArguments(c *Case, d policy.Denial) Finding {
	said := d
	said.Arguments = make([]string, len(d.Arguments))
	for i, arg := range d.Arguments {
		said.Arguments[i] = c.Evidence.Redactor.Redact(arg)
	}
	target := d.Target + diagnostics.Arguments(said)
	f := Refused(diagnostics.Certain, policy.AxisProcess, target, "program", diagnostics.Blocked(said, c.Show(d.Target))+": no rule of access.commands allows that", change.Object{})
	f.Hint.Explain = diagnostics.PageArguments
	return f.Unfixable("only a rule that you write allows it, in access.commands: for the name or the path under which it is to be started")
}
