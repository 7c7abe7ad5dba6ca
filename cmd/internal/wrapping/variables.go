package wrapping

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/clients/edit"
	"github.com/mcp-jail/mcp-jail/clients/ownfile"
	"github.com/mcp-jail/mcp-jail/cmd/internal/meaning"
	"github.com/mcp-jail/mcp-jail/internal/environ"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// oddName is the reason why an entry is left whose variable has one name for some programs, and
// another one for others.
const oddName clients.Reason = "has a variable whose name programs read in different ways"

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

// variables returns why the variables of an entry with a command line act on mcp-jail itself, or "".
func (j judge) variables(e Entry, argv []string, preset bool) clients.Reason {
	if why := j.sharedVariable(argv, preset); why != "" {
		return why
	}
	project := j.file.IsProject()
	names, err := j.steering(e, j.setter(argv, preset))
	odd := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return environ.IsName(name, project) })
	switch {
	case len(odd) > 0:
		for i, name := range odd {
			odd[i] = strconv.Quote(policy.Abbreviate(name))
		}
		return oddName + ": " + clients.Reason(listed(odd)+`: give it a name of letters, digits and "_", or take it out`)
	case names != nil:
		them := "it"
		if len(names) > 1 {
			them = "them"
		}
		return clients.Reason("sets " + listed(names) + ", which acts on mcp-jail itself, outside the jail: take " + them + " out there; where mcp-jail should obey " + them + ", set " + them + " in the environment that starts the client")
	case err != nil && project:
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

func listed(names []string) string {
	const most = 5
	if more := len(names) - most; more > 0 {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

// UseEnv sets the variables in the environment of this process that the client sets for the server of an entry. restore
// takes them back. Those that keep says are there stay as they are. It leaves out those because of which wrap leaves an
// entry, and what stands for a value that only the client knows stays as it is written.
func (f *File) UseEnv(e Entry, home string, keep bool) (restore func(), set int, err error) {
	host := f.host
	if host.Home = home; host.Env == nil { // that of another system
		host.Env = func(string) string { return "" }
	}
	asWritten := func(r clients.Reference) (string, error) { return r.Text, nil }
	st := Started{Argv: e.Argv()}
	_ = st.addEnv(e, &values{e.by.client, host, asWritten, map[string]bool{}}) // wrap and call say what is wrong
	var undo []func()
	for _, v := range st.Env {
		was, is := os.LookupEnv(v.Name)
		if is && keep || v.Unset {
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

// sharedVariable returns why a client gives mcp-jail a variable that acts on mcp-jail itself, out of
// a file whose variables all of its servers get, or "". argv is the command line of the entry, or nil if
// it starts a server of the user's configuration.
func (j judge) sharedVariable(argv []string, preset bool) clients.Reason {
	for _, c := range j.file.clients() {
		for _, shared := range c.Shared {
			for _, path := range existing(shared.Place, j.host) {
				names, _, err := readShared(shared, path)
				if err != nil {
					return clients.Reason("gets variables from " + c.Title + " that are not known, because " + path + " cannot be read: " + err.Error())
				}
				for _, name := range names {
					// A variable from the user's own file may do more than one of a project.
					project, may := shared.Place.Scope == clients.Project, environ.User
					if project {
						may = j.projectSetter(argv, preset)
					}
					if project && argv == nil && environ.Steers(name) {
						return clients.Reason("gets " + name + " from " + path + " if " + c.Title + " starts it: the project would choose what a server of your configuration does")
					}
					if !environ.MaySet(name, may) || project && environ.Loads(name) {
						return clients.Reason("gets " + name + " from " + path + " if " + c.Title + " starts it, which acts on mcp-jail itself, outside the jail")
					}
				}
			}
		}
	}
	return ""
}

// readShared returns the variables that a client gives to all of its servers, and all names that it may find.
func readShared(shared clients.Shared, path string) (names []string, env []clients.Variable, err error) {
	file, err := readPlace(path, shared.Place)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil
	case err != nil:
		return nil, nil, err
	case shared.Path == nil:
		names, err = meaning.DotenvNames(string(file.Data), shared.Place.Scope == clients.Project)
		return names, meaning.DotenvVariables(string(file.Data)), err
	}
	parsed, err := edit.Parse(edit.JSON, file.Data)
	if err == nil {
		err = parsed.Ambiguity(edit.Table{Path: shared.Path})
	}
	if err != nil {
		return nil, nil, err
	}
	value, _, _ := parsed.Lookup(shared.Path...)
	table, _ := value.(map[string]any)
	names = slices.Sorted(maps.Keys(table))
	for _, name := range names {
		if text, ok := table[name].(string); ok {
			env = append(env, clients.Variable{Name: name, Value: text})
		}
	}
	return names, env, nil
}

// readers are the clients that read a file, and whose file they take it for.
type readers struct {
	Client clients.Client   // whose file it is
	Also   []clients.Client // which read it as well

	readings          []reading
	ofUser, ofProject bool // see addScope
}

func (f *readers) addClient(c clients.Client) {
	if c.Name != f.Client.Name && !slices.ContainsFunc(f.Also, func(o clients.Client) bool { return o.Name == c.Name }) {
		f.Also = append(f.Also, c)
	}
}

// addScope notes whose file it is. A file at a place of the user's is the user's, also if a project
// has a link to it. A link of the user's to a project's file does not change whose that is. A file of a
// plugin is like a project's: others write its entries.
func (f *readers) addScope(r reading, path, real string) {
	others := r.place.Scope == clients.Project || r.plugin != nil
	f.ofProject = f.ofProject || others
	f.ofUser = f.ofUser || !others && path == real
}

// IsProject reports whether a project may have brought the file.
func (f *readers) IsProject() bool { return f.ofProject && !f.ofUser }

// Plugin returns the plugin that brings the file, or nil.
func (f *readers) Plugin() *clients.Plugin { return f.readings[0].plugin }

// within returns the host as the file sees it: one of the user or of a plugin has no project.
func (f *readers) within(host clients.Host) clients.Host {
	if !f.IsProject() || f.Plugin() != nil {
		host.Project = ""
	}
	return host
}

// replaced returns a text as the clients that read the file replace its variables. ok is false if
// one of them does what is not known here, or another thing than the others.
func (f *readers) replaced(text string, host clients.Host) (value string, ok bool) {
	value, ok = meaning.Replaced(f.Client, text, f.within(host))
	for _, c := range f.Also {
		if v, known := meaning.Replaced(c, text, f.within(host)); !known || v != value {
			return "", false
		}
	}
	return value, ok
}

func (f *readers) clients() []clients.Client { return append([]clients.Client{f.Client}, f.Also...) }

func (f *readers) isReadBy(c clients.Client) bool {
	return slices.ContainsFunc(f.clients(), func(o clients.Client) bool { return o.Name == c.Name })
}

// started returns a command line as the clients of the file start it, and the index of the first word
// of which that is not known here, or -1.
func (f *readers) started(argv []string, host clients.Host) (line []string, unknown int) {
	line, unknown = slices.Clone(argv), -1
	for i, word := range argv {
		if value, ok := f.replaced(word, host); ok {
			line[i] = value
		} else if unknown < 0 {
			unknown = i
		}
	}
	return line, unknown
}

// References reports whether one of the file's clients replaces a part of a word.
func (f *readers) References(word string) bool {
	return slices.ContainsFunc(f.readings, func(r reading) bool { return len(r.client.References(word)) > 0 })
}

// fileNames returns the names in the entry's file of variables. note says why none of them is
// granted. The error says that there may be a file whose names are not known.
func (s Entry) fileNames(c clients.Client, host clients.Host) (names []string, note string, err error) {
	if s.EnvFile == "" {
		return nil, "", nil
	}
	path, ok := meaning.Replaced(c, s.EnvFile, host)
	if !ok {
		return nil, "the variables of " + s.EnvFile + " are not granted, because only the client knows where it is: add --env NAME for each", errors.New("only the client knows where " + s.EnvFile + " is")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(host.Project, path)
	}
	if why := s.whyUnreadable(path, host); why != "" {
		return nil, "the variables of " + s.EnvFile + " are not granted, because it " + why + ": add --env NAME for each", errors.New(s.EnvFile + " " + why)
	}
	file, err := ownfile.Read(path)
	if err != nil {
		note = fmt.Sprintf("the variables of its file are not granted: %s", err)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return nil, note, err
	}
	switch {
	case bytes.Contains(file.Data, []byte("-----BEGIN")):
		note = "the variables of " + s.EnvFile + " are not granted, because it holds a key"
	case s.isProject() && !(isOfProject(path, host) && isOfProject(file.Real, host)):
		note = "the variables of " + s.EnvFile + " are not granted, because it is not a file of this project: add --env NAME for each"
	}
	if names, err = meaning.DotenvNames(string(file.Data), s.isProject()); err != nil {
		err = fmt.Errorf("%s, %w", s.EnvFile, err)
	}
	return names, note, err
}

// whyUnreadable returns why the variables in a file are not taken for the server's, or "". Files such
// as .env and .env.local are sensitive, and are made for this: the user's own entry may name any. One
// of a project may name those of its repository, and no link from there to another place.
func (s Entry) whyUnreadable(path string, host clients.Host) string {
	at := meaning.Sensitive(path, host)
	base := filepath.Base(path)
	switch dotenv := base == ".env" || strings.HasPrefix(base, ".env."); {
	case at == "" || dotenv && !s.isProject():
		return ""
	case !dotenv:
		return "belongs to " + at
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path // reading it fails, too
	}
	kind := func(at string) bool { return at == "" || strings.HasPrefix(at, "**/") }
	if !isOfProject(path, host) || !isOfProject(real, host) || !kind(at) || !kind(meaning.Sensitive(real, host)) {
		return "is not one of this project, and belongs to " + at
	}
	return ""
}

// isOfProject reports whether a path is one of the project, or of its repository.
func isOfProject(path string, host clients.Host) bool {
	return slices.ContainsFunc(repository(host), func(dir string) bool {
		root, err := filepath.EvalSymlinks(dir)
		return dir != "" && (hostfs.Within(host.OS, path, dir) || err == nil && hostfs.Within(host.OS, path, root))
	})
}
