package diagnostics

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// variable judges a name that may be one of an environment variable. Only one
// that is set on the host and was withheld tells anything about the jail.
func (j *judge) variable(m mention) verdict {
	if _, found := slices.BinarySearch(j.profile.Withheld, m.name); found || slices.Contains(j.profile.Withheld, m.name) {
		return j.blameVariable(Likely, m.name, "the server's message names the variable "+m.name+", which is set but not granted")
	}
	set := slices.ContainsFunc(j.profile.Env, func(v policy.Variable) bool { return v.Name == m.name })
	if set || !m.strict {
		return verdict{}
	}
	if slices.Contains(j.ev.Unset, m.name) {
		return verdict{
			ours: true,
			note: "the variable " + m.name + " is granted but not set where mcp-jail was started",
			fix:  "set " + m.name + " in the client's configuration of this server",
		}
	}
	if !strings.Contains(m.name, "_") {
		return verdict{}
	}
	return verdict{
		note: "the variable " + m.name + " is not set where mcp-jail was started",
		fix:  "set " + m.name + " in the client's configuration of this server, and grant it",
		need: need{variable: m.name},
		hint: Hint{Warning: chooses(m.name)},
	}
}

func (j *judge) blameVariable(a Attribution, name, cause string) verdict {
	v := j.blame(a, policy.AxisEnv, name, "variable", cause, need{variable: name})
	v.hint.Warning = chooses(name)
	if !isVariable(name) {
		v.need = need{}
	}
	return v
}

// chooses warns of a variable that no program asks for, and that loaders, shells and
// interpreters obey.
func chooses(name string) string {
	if !policy.Dangerous(name) {
		return ""
	}
	return name + " chooses what code programs load or start"
}

func isVariable(name string) bool {
	for i := 0; i < len(name); i++ {
		if c := name[i]; !inName(c) || i == 0 && c >= '0' && c <= '9' {
			return false
		}
	}
	return name != ""
}

// program judges a program that a text says was not started.
func (j *judge) program(m mention) verdict {
	if strings.Contains(m.name, "/") {
		m.kind, m.want = mentionPath, policy.Read|policy.Execute
		return j.path(m)
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
		if file != "" && d.Axis == policy.AxisProcess && d.Target == file && j.profile.Programs != nil && !j.listed(m.name) {
			v := j.blameCommand(Certain, m.name, "the jail refused "+operation(d)+" "+j.quote(m.name))
			v.hint.Target = file
			return v
		}
	}
	switch {
	case inside && j.profile.Programs != nil && !j.listed(m.name):
		return j.blameCommand(Likely, m.name, "the server's message names the program "+j.quote(m.name)+", which the policy's commands do not list")
	case inside:
		return verdict{}
	case outside != "":
		v := j.blamePath(Likely, outside, policy.Execute, false,
			"the server's message names the program "+j.quote(m.name)+", and the policy does not let it execute "+j.show(outside))
		v.hint.Axis = policy.AxisProcess
		return v
	case j.profile.Dir != "" && j.exists(filepath.Join(j.profile.Dir, m.name)) == present: // a file, by its name alone
		m.kind = mentionPath
		return j.path(m)
	case j.ev.Exists != nil && j.ev.SearchPath != "" && m.fault == faultAbsent:
		return verdict{
			note: "the program " + j.quote(m.name) + " is not in the PATH of this host",
			fix:  "install " + j.quote(m.name),
		}
	}
	return verdict{}
}

func (j *judge) blameCommand(a Attribution, name, cause string) verdict {
	v := j.blame(a, policy.AxisProcess, name, "program", cause, need{program: name})
	if !writable(name) || strings.ContainsAny(name, "*\n") {
		v.need = need{}
	}
	return v
}

// unlisted tells a file that the rules on files let the server start, and the
// list of commands does not.
func (j *judge) unlisted(path string, m mention) bool {
	if j.profile.Programs == nil || m.fault != faultRefused || slices.Contains(j.profile.Programs, path) || !j.rightsAt(path).Has(policy.Execute) {
		return false
	}
	// "x: Permission denied" does not say what was tried: of the system's files it
	// can only have been this.
	return m.want.Has(policy.Execute) || m.want == 0 && j.system(path)
}

// commandFor is how a table of commands calls the program at path: its name, if
// that is what PATH finds, else the path.
func (j *judge) commandFor(path string) string {
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

func (j *judge) listed(name string) bool {
	return slices.ContainsFunc(j.profile.Programs, func(p string) bool { return filepath.Base(p) == name })
}

// searchPath is where programs are looked for: as the server does, then as the
// host would, then as npm's scripts do.
func (j *judge) searchPath() string {
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
