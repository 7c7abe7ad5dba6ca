package diagnostics

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// analyzeVariable judges a name that may be one of an environment variable. Only one
// that is set on the host and was withheld tells anything about the jail.
func (j *analyzer) analyzeVariable(m reference) finding {
	if _, found := slices.BinarySearch(j.profile.Withheld, m.name); found || slices.Contains(j.profile.Withheld, m.name) {
		return j.attributeVariable(Likely, m.name, "the server's message names the variable "+m.name+", which is set but not granted")
	}
	set := slices.ContainsFunc(j.profile.Env, func(v policy.Variable) bool { return v.Name == m.name })
	if set || !m.asked {
		return finding{}
	}
	if slices.Contains(j.ev.Unset, m.name) {
		return finding{
			aboutPolicy: true,
			note:        "the variable " + m.name + " is granted but not set where mcp-jail was started",
			fix:         "set " + m.name + " in the client's configuration of this server",
		}
	}
	if !strings.Contains(m.name, "_") {
		return finding{}
	}
	return finding{
		note:  "the variable " + m.name + " is not set where mcp-jail was started",
		fix:   "set " + m.name + " in the client's configuration of this server, and grant it",
		grant: grant{variable: m.name},
		hint:  Hint{Warning: loaderWarning(m.name)},
	}
}

func (j *analyzer) attributeVariable(a Attribution, name, cause string) finding {
	v := j.attribute(a, policy.AxisEnv, name, "variable", cause, grant{variable: name})
	v.hint.Warning = loaderWarning(name)
	if !isVariable(name) {
		v.grant = grant{}
	}
	return v
}

// loaderWarning warns of a variable that no program asks for, and that loaders, shells and
// interpreters obey.
func loaderWarning(name string) string {
	if !policy.Dangerous(name) {
		return ""
	}
	return name + " chooses what code programs load or start"
}

func isVariable(name string) bool {
	for i := 0; i < len(name); i++ {
		if c := name[i]; !isWordByte(c) || i == 0 && c >= '0' && c <= '9' {
			return false
		}
	}
	return name != ""
}

// analyzeProgram judges a program that a text says was not started.
func (j *analyzer) analyzeProgram(m reference) finding {
	if strings.Contains(m.name, "/") {
		m.kind, m.want = refPath, policy.Read|policy.Execute
		return j.analyzePath(m)
	}
	var outside string // the first file of that name that may not be executed
	inside := false    // one that may
	file := ""         // the first of all
	for _, dir := range filepath.SplitList(j.searchPath()) {
		if !filepath.IsAbs(dir) {
			continue
		}
		found := j.canonical(filepath.Join(dir, m.name))
		if j.exists(found) != present {
			continue
		}
		if file == "" {
			file = found
		}
		if j.rightsAt(found).Has(policy.Execute) {
			inside = true
			break
		}
		if outside == "" {
			outside = found
		}
	}
	for _, d := range j.ev.Denials {
		if file != "" && d.Axis == policy.AxisProcess && d.Target == file && j.profile.Programs != nil && !j.isListed(m.name) {
			v := j.attributeCommand(Certain, m.name, "the jail refused "+operation(d)+" "+j.quote(m.name))
			v.hint.Target = file
			return v
		}
	}
	switch {
	case inside && j.profile.Programs != nil && !j.isListed(m.name):
		return j.attributeCommand(Likely, m.name, "the server's message names the program "+j.quote(m.name)+", which the policy's commands do not list")
	case inside:
		return finding{}
	case outside != "":
		v := j.attributePath(Likely, outside, policy.Execute, false,
			"the server's message names the program "+j.quote(m.name)+", and the policy does not let it execute "+j.show(outside))
		v.hint.Axis = policy.AxisProcess
		return v
	case j.profile.Dir != "" && j.exists(filepath.Join(j.profile.Dir, m.name)) == present: // a file, by its name alone
		m.kind = refPath
		return j.analyzePath(m)
	case j.ev.Exists != nil && j.ev.SearchPath != "" && m.fault == faultAbsent:
		return finding{
			note: "the program " + j.quote(m.name) + " is not in the PATH of this host",
			fix:  "install " + j.quote(m.name),
		}
	}
	return finding{}
}

func (j *analyzer) attributeCommand(a Attribution, name, cause string) finding {
	v := j.attribute(a, policy.AxisProcess, name, "program", cause, grant{program: name})
	if !writable(name) || strings.ContainsAny(name, "*\n") {
		v.grant = grant{}
	}
	return v
}

// isUnlisted tells a file that the rules on files let the server start, and the
// list of commands does not.
func (j *analyzer) isUnlisted(path string, m reference) bool {
	if j.profile.Programs == nil || m.fault != faultRefused || slices.Contains(j.profile.Programs, path) || !j.rightsAt(path).Has(policy.Execute) {
		return false
	}
	// "x: Permission denied" does not say what was tried: of the system's files it
	// can only have been this.
	return m.want.Has(policy.Execute) || m.want == 0 && j.isSystem(path)
}

// commandName is how a table of commands calls the program at path: its name, if
// that is what PATH finds, else the path.
func (j *analyzer) commandName(path string) string {
	name := filepath.Base(path)
	for _, dir := range filepath.SplitList(j.searchPath()) {
		if file := filepath.Join(dir, name); filepath.IsAbs(dir) && j.exists(file) != absent {
			if j.canonical(file) == path {
				return name
			}
			break
		}
	}
	return path
}

func (j *analyzer) isListed(name string) bool {
	return slices.ContainsFunc(j.profile.Programs, func(p string) bool { return filepath.Base(p) == name })
}

// searchPath is where programs are looked for: as the server does, then as the
// host would, then as npm's scripts do.
func (j *analyzer) searchPath() string {
	path := ""
	for _, v := range j.profile.Env {
		if v.Name == "PATH" {
			path = v.Value
		}
	}
	path += string(filepath.ListSeparator) + j.ev.SearchPath
	if j.profile.Workspace != "" {
		path += string(filepath.ListSeparator) + filepath.Join(j.profile.Workspace, "node_modules", ".bin")
	}
	return path
}
