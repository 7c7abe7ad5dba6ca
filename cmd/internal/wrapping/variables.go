package wrapping

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping/internal/meaning"
	"github.com/mcp-jail/mcp-jail/internal/environ"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Environment is the reason why an entry is left whose variables would act on mcp-jail: the
// client gives them to mcp-jail too, and not to the server alone.
const Environment clients.Reason = "has a variable that would change what mcp-jail itself does, outside of the jail"

// OddName is the reason why an entry is left whose variable has one name for some programs, and
// another one for others.
const OddName clients.Reason = "has a variable whose name programs read in different ways"

// setter returns which variables an entry with a command line may set. What chooses packages and
// interpreters acts only on a line for which mcp-jail fetches or finds them itself, and what chooses
// authorities only on one with a preset. argv is nil for a server of the configuration.
func (j judge) setter(argv []string, preset bool) environ.Setter {
	if !j.file.IsProject() {
		return environ.User
	}
	return j.projectSetter(argv, preset)
}

func (j judge) projectSetter(argv []string, preset bool) environ.Setter {
	if len(argv) == 0 || preset {
		return environ.Project
	}
	line, unknown := j.file.started(argv, j.host)
	_, err := runline.Parse(line)
	if !errors.Is(err, runline.ErrNotLauncher) || unknown == 0 || unknown > 0 && runline.Starts(line[0]) {
		return environ.Project
	}
	return environ.Direct
}

func (j judge) variables(e Entry, line clients.Wrapped) clients.Reason {
	project := j.file.IsProject()
	flags, why := j.flags(e, line)
	preset := why != "" || flags.Preset != ""
	if why := j.sharedVariable(line.Argv, preset); why != "" {
		return why
	}
	may := j.setter(line.Argv, preset)
	if names, err := j.steering(e, may); names != nil {
		if why, detail := forbidden(names, project); why == OddName {
			return why + ": " + clients.Reason(detail)
		}
		return clients.Reason("sets " + listed(names) + ", which acts on mcp-jail itself, outside of the jail: " + takeOut(names))
	} else if err != nil && project {
		return clients.Reason("has a file of variables that is not known, and some would act on mcp-jail itself: " + err.Error())
	}
	return ""
}

// steering returns the variables of an entry that it may not set, because they act outside of the
// jail. The error says that the entry may set further variables.
func (j judge) steering(e Entry, may environ.Setter) (names []string, err error) {
	fromFile, _, err := e.fileNames(e.by.client, j.file.within(j.host))
	set := e.Names
	for _, v := range e.Env {
		if !j.isUnchanged(v) {
			set = append(set[:len(set):len(set)], v.Name)
		}
	}
	for _, name := range slices.Concat(set, fromFile) {
		if !environ.MaySet(name, may) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, err
}

// isUnchanged reports whether a variable of an entry has the value that mcp-jail has without the
// entry: every client of the file passes on its own variable of that name, or it is HOME and names the
// user's home directory.
func (j judge) isUnchanged(v clients.Variable) bool {
	if v.Unset {
		return false
	}
	if value, ok := j.file.replaced(v.Value, j.host); ok && v.Name == "HOME" && value == j.host.Home && value != "" {
		return true
	}
	return !slices.ContainsFunc(j.file.clients(), func(c clients.Client) bool {
		refs := c.References(v.Value)
		return c.OnlyCmd || len(refs) != 1 || refs[0].Text != v.Value || refs[0].Kind != clients.FromEnv || refs[0].Name != v.Name || refs[0].Default != "" ||
			strings.Contains(v.Value, ":-")
	})
}

func forbidden(names []string, project bool) (why clients.Reason, detail string) {
	var odd []string
	for _, name := range names {
		if !environ.IsName(name, project) {
			odd = append(odd, strconv.Quote(policy.Abbreviate(name)))
		}
	}
	if len(odd) > 0 {
		return OddName, listed(odd) + `: give it a name of letters, digits and "_", or take it out`
	}
	return Environment, "it sets " + listed(names) + ": " + takeOut(names)
}

func takeOut(names []string) string {
	them := "it"
	if len(names) > 1 {
		them = "them"
	}
	return "take " + them + " out there; where mcp-jail is to obey " + them + ", set " + them + " in the environment that starts the client"
}

func listed(names []string) string {
	const most = 5
	if more := len(names) - most; more > 0 {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

// UseEnv sets the variables in the environment of this process that the client sets for the server of an entry. restore
// takes them back. Those that keep says are there stay as they are.
func (f *File) UseEnv(e Entry, home string, keep bool) (restore func(), set int, err error) {
	var undo []func()
	for _, v := range f.serverEnv(e, home) {
		was, is := os.LookupEnv(v.Name)
		if is && keep {
			continue
		}
		if err = errors.Join(err, os.Setenv(v.Name, v.Value)); is {
			undo = append(undo, func() { os.Setenv(v.Name, was) })
		} else {
			undo = append(undo, func() { os.Unsetenv(v.Name) })
		}
	}
	return func() {
		for _, f := range undo {
			f()
		}
	}, len(undo), err
}

// serverEnv returns the variables that an entry of the file sets for its server. It leaves out
// those because of which wrap leaves an entry. In the values, the client's references to the home
// directory are replaced.
func (f *File) serverEnv(e Entry, home string) (env []clients.Variable) {
	argv, preset := e.Argv(), false
	if w, ok := clients.ParseWrapped(argv); ok {
		argv, preset = w.Argv, slices.ContainsFunc(w.Flags, func(word string) bool { return strings.HasPrefix(word, "--preset") })
	}
	may := judge{file: f, host: f.host}.setter(argv, preset)
	for _, v := range e.Env {
		if !v.Unset && environ.MaySet(v.Name, may) {
			v.Value = meaning.ReplacedValue(e.by.client, v.Value, clients.Host{Home: home})
			env = append(env, v)
		}
	}
	return env
}
