package wrapping

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/clients/ownfile"
	"github.com/mcp-jail/mcp-jail/cmd/internal/meaning"
	"github.com/mcp-jail/mcp-jail/internal/environ"
)

// Started is how a client starts the server of an entry.
type Started struct {
	Argv  []string           // with values in place of the client's variables
	Env   []clients.Variable // that the client sets or takes away
	Dir   string             // "" if only the client knows
	Root  string             // the directory of the project that the entry belongs to, or ""
	Notes []string           // what is not as the client would have it
}

// UnknownValueError reports a variable in an entry whose value only the client knows.
type UnknownValueError struct{ clients.Reference }

func (e *UnknownValueError) Error() string {
	return "the entry has " + e.Text + ", whose value only the client knows"
}

// AsClient returns how a client starts the server of an entry. argv is the command line of the entry,
// or the one that wrap would write. host.Project is the directory in which the client has its project.
// ask returns the value of a variable that is not in the environment; its error may be an
// *UnknownValueError. AsClient reads files, and runs no command of an entry.
func (s Entry) AsClient(argv []string, host clients.Host, ask func(clients.Reference) (string, error)) (st Started, err error) {
	if s.For != "" {
		host.Project = s.For
	}
	if s.isProject() && s.by.plugin == nil || s.For != "" {
		st.Root = host.Project
	}
	v := values{s.by.client, host, ask, map[string]bool{}}
	for _, word := range argv {
		value, err := v.of(word)
		if err != nil {
			return st, err
		}
		if len(v.unset) > 0 { // a path could become another one
			return st, fmt.Errorf("the entry has %s, which is not set here", word)
		}
		st.Argv = append(st.Argv, value)
	}
	if st.Dir, err = v.dirOf(s); err != nil {
		return st, err
	}
	return st, st.addEnv(s, &v)
}

func (s *Started) addEnv(e Entry, v *values) error {
	for _, shared := range e.by.client.Shared {
		may := environ.User
		if shared.Place.Scope == clients.Project {
			may = environ.Project
		}
		for _, path := range existing(shared.Place, v.host) {
			_, env, err := readShared(shared, path) // an entry for which it cannot be read is refused
			if err != nil {
				continue
			}
			if err := s.add(v, may, env...); err != nil {
				return err
			}
		}
	}
	w, wrapped := clients.ParseWrapped(s.Argv)
	if !wrapped {
		w.Argv = s.Argv
	}
	may := judge{file: e.file, host: v.host}.setter(w.Argv, slices.ContainsFunc(w.Flags, func(word string) bool { return strings.HasPrefix(word, "--preset") }))
	fromFile, err := s.envFile(e, v)
	if err == nil {
		err = s.add(v, may, fromFile...)
	}
	if err != nil {
		return err
	}
	for _, one := range e.Env {
		if !one.Unset {
			if one.Value, err = v.of(one.Value); err != nil {
				return err
			}
		}
		if len(v.unset) > 0 {
			s.Notes = append(s.Notes, fmt.Sprintf("%s is not set, which the entry uses for %s: the server does not get it", strings.Join(slices.Sorted(maps.Keys(v.unset)), ", "), one.Name))
			clear(v.unset)
			continue
		}
		if err := s.add(v, may, one); err != nil {
			return err
		}
	}
	return nil
}

// add adds variables that are not as in the environment. Judge and Wrap refuse an entry that sets one
// which it may not set. They looked at the same files a moment before.
func (s *Started) add(v *values, may environ.Setter, env ...clients.Variable) error {
	for _, one := range env {
		if !one.Unset && v.host.Env(one.Name) == one.Value && one.Value != "" {
			continue
		}
		if !environ.MaySet(one.Name, may) {
			return fmt.Errorf("the entry sets %s, which acts on mcp-jail itself, outside the jail", one.Name)
		}
		s.Env = append(s.Env, one)
	}
	return nil
}

// envFile returns the variables of the entry's file of variables, with the names that wrap finds there.
func (s *Started) envFile(e Entry, v *values) (env []clients.Variable, err error) {
	host := e.file.within(v.host) // a file of the user's reads none that a project brings
	names, note, err := e.fileNames(v.client, host)
	if err != nil || note != "" || len(names) == 0 {
		if note != "" {
			s.Notes = append(s.Notes, note)
		}
		return nil, nil
	}
	path, _ := meaning.Replaced(v.client, e.EnvFile, host)
	if !filepath.IsAbs(path) {
		path = filepath.Join(host.Project, path)
	}
	file, err := ownfile.Read(path)
	if err != nil {
		return nil, err
	}
	for _, one := range meaning.DotenvVariables(string(file.Data)) {
		if slices.Contains(names, one.Name) {
			env = append(env, one)
		}
	}
	return env, nil
}

// values replaces the variables of a client.
type values struct {
	client clients.Client
	host   clients.Host
	ask    func(clients.Reference) (string, error)
	unset  map[string]bool // variables of the environment that were not set
}

// of returns a text in which values replace the variables. It does not look for variables in values.
func (v *values) of(text string) (string, error) {
	refs := v.client.References(text)
	if v.client.OnlyCmd {
		refs = nil // wrap leaves an entry whose program has some
	}
	var b strings.Builder
	rest := text
	for _, r := range refs {
		before, after, _ := strings.Cut(rest, r.Text)
		value, err := v.value(r)
		if err != nil {
			return "", err
		}
		b.WriteString(before + value)
		rest = after
	}
	b.WriteString(rest)
	if under, is := strings.CutPrefix(text, "~/"); is && v.client.Tilde && len(refs) == 0 {
		return filepath.Join(v.host.Home, under), nil
	}
	return b.String(), nil
}

func (v *values) value(r clients.Reference) (string, error) {
	switch {
	case r.Kind == clients.Workspace && v.host.Project != "" && (r.Name == "" || r.Name == filepath.Base(v.host.Project)):
		return v.host.Project, nil
	case r.Kind == clients.Home:
		return v.host.Home, nil
	case r.Kind != clients.FromEnv:
		return v.ask(r)
	case v.client.Known[r.Name] != "":
		return v.client.Known[r.Name], nil
	}
	if value := v.host.Env(r.Name); value != "" {
		return value, nil
	}
	if value, err := v.ask(r); err == nil {
		return value, nil
	}
	if r.Default == "" {
		v.unset[r.Name] = true
	}
	return r.Default, nil
}

// dirOf returns the directory in which the client starts the server of an entry, or "".
func (v *values) dirOf(e Entry) (string, error) {
	if e.Cwd != "" {
		dir, err := v.of(e.Cwd)
		if err == nil && len(v.unset) > 0 {
			err = fmt.Errorf("the entry is started in %s, and the variable is not set here", e.Cwd)
		}
		if err == nil && !filepath.IsAbs(dir) {
			dir = filepath.Join(v.host.Project, dir)
		}
		return dir, err
	}
	switch e.by.client.Dir {
	case clients.DirProject, clients.DirOpen:
		return v.host.Project, nil
	}
	if e.isProject() || e.For != "" {
		return v.host.Project, nil
	}
	return "", nil
}
