package diagnostics

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/policy"
)

// analyzeVariable analyzes a name that may be an environment variable. Only a variable
// that is set on the host and was withheld points to the jail.
func (a *analyzer) analyzeVariable(ref said.Reference) finding {
	if _, found := slices.BinarySearch(a.profile.Withheld, ref.Name); found || slices.Contains(a.profile.Withheld, ref.Name) {
		if ref.Authority {
			return a.attributeVariable(Likely, ref.Name, "the server does not trust a certificate, and the variable "+ref.Name+", which names further authorities, is set but not granted")
		}
		return a.attributeVariable(Likely, ref.Name, "the server's message names the variable "+ref.Name+", which is set but not granted")
	}
	set := slices.ContainsFunc(a.profile.Env, func(v policy.Variable) bool { return v.Name == ref.Name })
	if set || !ref.Asked {
		return finding{}
	}
	if slices.Contains(a.ev.Unset, ref.Name) {
		return finding{
			aboutPolicy: true,
			note:        "the variable " + ref.Name + " is granted but not set where mcp-jail was started",
			fix:         "set " + ref.Name + " in the client's configuration of this server",
			hint:        Hint{Explain: PageEnv},
		}
	}
	if !strings.Contains(ref.Name, "_") {
		return finding{}
	}
	return finding{
		note:  "the variable " + ref.Name + " is not set where mcp-jail was started",
		fix:   "set " + ref.Name + " in the client's configuration of this server, and grant it",
		grant: grant{variable: ref.Name},
		hint:  Hint{Warning: loaderWarning(ref.Name), Explain: PageEnv},
	}
}

func (a *analyzer) attributeVariable(sure Attribution, name, cause string) finding {
	f := a.attribute(sure, policy.AxisEnv, name, "variable", cause, grant{variable: name})
	f.hint.Warning = loaderWarning(name)
	if !said.IsVariable(name) {
		f.grant = grant{}
	}
	return f
}

// loaderWarning returns a warning for variables that programs rarely need and that
// loaders, shells and interpreters obey.
func loaderWarning(name string) string {
	if !policy.IsDangerousVariable(name) {
		return ""
	}
	return name + " chooses what code programs load or start"
}

// analyzeProgram analyzes a program that a text says was not started.
func (a *analyzer) analyzeProgram(ref said.Reference) finding {
	if strings.Contains(ref.Name, "/") {
		ref.Kind, ref.Want = said.Path, policy.Read|policy.Execute
		return a.analyzePath(ref)
	}
	var outside string // the first file of that name that may not be executed
	inside := false    // a file of that name may be executed
	file := ""         // the first file of that name
	for _, dir := range filepath.SplitList(a.searchPath()) {
		if !filepath.IsAbs(dir) {
			continue
		}
		found := a.canonical(filepath.Join(dir, ref.Name))
		if a.exists(found) != present {
			continue
		}
		if file == "" {
			file = found
		}
		if a.rightsAt(found).Has(policy.Execute) {
			inside = true
			break
		}
		if outside == "" {
			outside = found
		}
	}
	for _, d := range a.ev.Denials {
		if file != "" && d.Axis == policy.AxisProcess && d.Target == file && a.profile.Programs != nil && !a.isListed(ref.Name) {
			f := a.attributeCommand(Certain, ref.Name, "the jail refused "+operation(d)+" "+a.quote(ref.Name))
			f.hint.Target = file
			return f
		}
	}
	switch {
	case inside && a.profile.Programs != nil && !a.isListed(ref.Name):
		return a.attributeCommand(Likely, ref.Name, "the server's message names the program "+a.quote(ref.Name)+", which the policy's commands do not list")
	case inside:
		return finding{}
	case outside != "":
		f := a.attributePath(Likely, outside, policy.Execute, false,
			"the server's message names the program "+a.quote(ref.Name)+", and the policy does not let it execute "+a.show(outside))
		f.hint.Axis = policy.AxisProcess
		return f
	case a.profile.Dir != "" && a.exists(filepath.Join(a.profile.Dir, ref.Name)) == present: // a file in the working directory
		ref.Kind = said.Path
		return a.analyzePath(ref)
	case a.ev.Exists != nil && a.ev.SearchPath != "" && ref.Fault == said.Absent:
		return finding{
			note: "the program " + a.quote(ref.Name) + " is not in the PATH of this host",
			fix:  "install " + a.quote(ref.Name),
		}
	}
	return finding{}
}

func (a *analyzer) attributeCommand(sure Attribution, name, cause string) finding {
	f := a.attribute(sure, policy.AxisProcess, name, "program", cause, grant{program: name})
	if !writable(name) || strings.ContainsAny(name, "*\n") {
		f.grant = grant{}
	}
	return f
}

// isUnlisted reports whether the filesystem rules let the server start a file and its list
// of commands does not.
func (a *analyzer) isUnlisted(path string, ref said.Reference) bool {
	if a.profile.Programs == nil || ref.Fault != said.Refused || slices.Contains(a.profile.Programs, path) || !a.rightsAt(path).Has(policy.Execute) {
		return false
	}
	// "x: Permission denied" does not name the operation. For a file of the system it
	// can only have been the start.
	return ref.Want.Has(policy.Execute) || ref.Want == 0 && a.isSystem(path)
}

// commandName returns the name of the program at path in a table of commands: its base
// name if PATH finds it there, else the path.
func (a *analyzer) commandName(path string) string {
	if name := filepath.Base(path); a.finds(name, path) {
		return name
	}
	return path
}

// finds reports whether PATH finds the program at path by a name.
func (a *analyzer) finds(name, path string) bool {
	for _, dir := range filepath.SplitList(a.searchPath()) {
		if file := filepath.Join(dir, name); filepath.IsAbs(dir) && a.exists(file) != absent {
			return a.canonical(file) == path || a.ev.Canonical != nil && a.ev.Canonical(file) == path
		}
	}
	return false
}

func (a *analyzer) isListed(name string) bool {
	return slices.ContainsFunc(a.profile.Programs, func(p string) bool { return filepath.Base(p) == name })
}

// searchPath returns the directories to search for programs: those of the server, then of
// the host, then of npm's scripts.
func (a *analyzer) searchPath() string {
	path := ""
	for _, v := range a.profile.Env {
		if v.Name == "PATH" {
			path = v.Value
		}
	}
	path += string(filepath.ListSeparator) + a.ev.SearchPath
	if a.profile.Workspace != "" {
		path += string(filepath.ListSeparator) + filepath.Join(a.profile.Workspace, "node_modules", ".bin")
	}
	return path
}
