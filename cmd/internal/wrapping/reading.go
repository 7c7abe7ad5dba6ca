package wrapping

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/clients/edit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/meaning"
	"github.com/mcp-jail/mcp-jail/policy"
)

// A reading is a way in which a client reads a file: where it looks for servers, and how they are
// written. Two clients can find different servers in one file.
type reading struct {
	client clients.Client
	place  clients.Place
	plugin *clients.Plugin // that brings the file, or nil
}

func (r reading) isSame(o reading) bool {
	way := func(r reading) []any {
		return []any{r.place.Tables, r.place.Bare, r.place.Single, r.place.Line, r.client.Shapes, r.client.OnlyCmd}
	}
	return reflect.DeepEqual(way(r), way(o))
}

// add adds a client to those that read the file, and the servers that it alone finds. path is where
// the client finds the file.
func (f *File) add(r reading, path string) {
	f.addScope(r, path, f.Real())
	at := slices.IndexFunc(f.readings, r.isSame)
	if at < 0 {
		at = len(f.readings)
		f.readings = append(f.readings, r)
		f.find(r)
	}
	if f.Err != nil || f.finds[at] {
		f.addClient(r.client)
	}
}

// nameReader names a client that finds servers in the file, if there is one.
func (f *File) nameReader() {
	if f.Err == nil && !f.finds[0] && len(f.Also) > 0 {
		f.Client, f.Also = f.Also[0], f.Also[1:]
	}
}

func (f *File) again() *File {
	after := &File{readers: readers{Client: f.Client, readings: f.readings[:1:1]}, Place: f.Place, Path: f.Path, host: f.host, own: f.own, waive: map[string][]policy.Axis{}}
	after.parse()
	for _, r := range f.readings {
		after.add(r, f.Path)
	}
	after.nameReader()
	after.ofProject, after.ofUser = f.ofProject, f.ofUser
	return after
}

func (f *File) find(r reading) {
	if f.Err != nil {
		return
	}
	texts := func(word string) []string { // that the client may make of it, and "" where that is not known
		set, _ := meaning.Replaced(r.client, word, f.host)
		preset, _ := meaning.Replaced(r.client, meaning.Defaulted(r.client, word, f.host), f.host)
		return []string{set, preset}
	}
	found, err := f.entries(r)
	f.finds = append(f.finds, len(found) > 0)
	for i := 0; err == nil && i < len(found); i++ {
		if err = meaning.CheckLook(found[i].Entry, f.host, f.IsProject(), texts); err == nil {
			f.merge(found[i])
		}
	}
	if err != nil {
		f.Err = fmt.Errorf("%s: %w", f.Path, err)
	}
}

// otherKey returns an error if the file has servers only where another client looks for them.
func (f *File) otherKey() error {
	isServer := func(e Entry) bool { return e.Left != clients.NoCommand }
	for _, c := range clients.All() {
		for _, p := range c.Places {
			if p.Bare || p.Single || len(p.Line) > 0 {
				continue
			}
			if found, err := f.entries(reading{client: c, place: p}); err == nil && slices.ContainsFunc(found, isServer) {
				return fmt.Errorf("%s: its servers are where %s has them (%s), and %s does not read them there; it reads %s", f.Path, c.Title, places(p.Tables), f.Client.Title, places(f.Place.Tables))
			}
		}
	}
	return nil
}

func places(tables []clients.Table) string {
	var paths []string
	for _, t := range tables {
		paths = append(paths, strings.Join(t.Path, "."))
	}
	return strings.Join(paths, " or ")
}

// merge adds an entry. One that another client has found as well is there already, and is left if
// that client starts something else.
func (f *File) merge(e Entry) {
	at, there := f.at[e.Key()]
	if !there {
		f.at[e.Key()] = len(f.Entries)
		f.Entries = append(f.Entries, e)
		return
	}
	switch old := &f.Entries[at]; {
	case old.Left == clients.Beside || e.Left == clients.Beside:
		// No wrapping of the entry puts a command beside it into the jail.
		if e.Left == clients.Beside {
			*old = e
		}
	case e.Command == "" || old.Left == clients.Ambiguous:
	case old.Command == "", e.Left == clients.Ambiguous:
		*old = e
	case !slices.Equal(old.Argv(), e.Argv()) || !reflect.DeepEqual(old.Env, e.Env):
		old.Left, old.Detail = clients.Ambiguous, fmt.Sprintf("%s and %s do not start the same there", old.by.client.Title, e.by.client.Title)
	case old.Left != "" && old.Left != clients.Jailed:
		*old = e // the other client does not start it
	default:
		old.others = append(old.others, e)
	}
}

// asRead returns the entry as each client finds it that starts its command line. Some clients know
// keys that others do not: a directory, a file of variables, another machine.
func (s Entry) asRead() []Entry { return append([]Entry{s}, s.others...) }

func (f *File) entries(r reading) (all []Entry, err error) {
	tables, single := r.place.Tables, false
	if (r.place.Bare || r.place.Single) && !slices.ContainsFunc(tables, func(t clients.Table) bool {
		_, _, ok := f.parsed.Lookup(t.Path...)
		return ok
	}) {
		tables, single = []clients.Table{{}}, r.place.Single
	}
	if err := f.checkReplaced(r.client); err != nil {
		return nil, err
	}
	if line := r.place.Line; line != nil {
		if err := f.parsed.Ambiguity(edit.Table{Path: line}); err != nil {
			return nil, err
		}
		if value, at, _ := f.parsed.Lookup(line...); value != nil && value != "" {
			e := clients.Entry{Client: r.client.Name, Server: "mcp", Path: line, Line: at, Left: clients.AsLine}
			e.Detail = "write it as an entry of " + strings.Join(r.place.Tables[0].Path, ".") + ", and take out " + strings.Join(line, ".")
			all = append(all, Entry{Entry: e, file: f, by: r})
		}
	}
	for _, table := range tables {
		at := edit.Table{Path: table.Path, Single: single || table.Single}
		if err := f.parsed.Ambiguity(at); err != nil {
			return nil, err
		}
		// Each shape of the client has its own keys for the words: they are looked up once a shape.
		byShape := map[string]map[string]edit.Server{}
		servers := f.parsed.Servers(at)
		if n := len(all) + len(servers); n > maxServers {
			return nil, fmt.Errorf("the file has %d servers or more, and mcp-jail reads files with at most %d", n, maxServers)
		}
		for _, s := range servers {
			value, _, _ := f.parsed.Lookup(s.Path...)
			item := clients.Item{Table: table, Path: s.Path, Line: s.Line, Value: value}
			if single {
				item.Name = strings.TrimSuffix(filepath.Base(f.Path), filepath.Ext(f.Path))
			} else if table.Single && r.plugin != nil {
				item.Name = r.plugin.ID
			}
			e := f.entry(r, item, at, byShape)
			if len(table.Path) == 0 && e.Left == clients.NoCommand {
				continue // another key of a file that has no table of servers
			}
			all = append(all, e)
		}
	}
	return all, nil
}

// checkReplaced returns an error if a client replaces variables in the text of the file before it
// parses that, and so could find other keys and values than mcp-jail does.
func (f *File) checkReplaced(c clients.Client) error {
	if !c.AsText {
		return nil
	}
	env := f.host.Env
	for _, form := range c.Forms {
		err := f.parsed.Marked(form.Open, form.Close, func(name string, inside bool) string {
			switch {
			case !inside:
				return c.Title + " replaces it before it looks for keys and values"
			case form.Kind != clients.FromEnv: // the text of a file is escaped
			case namesDirectory(name):
				return c.Title + " puts the name of a directory in its place before it looks for keys and values, and that can have quotes"
			case env != nil && strings.ContainsFunc(env(name), func(r rune) bool { return r < ' ' || r == '"' || r == '\\' }):
				return c.Title + " puts the value of " + policy.Abbreviate(name) + " in its place before it looks for keys and values, and that has a quote, a backslash or a control character"
			}
			return ""
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// namesDirectory reports whether the value of a variable follows from the project: shells and
// package managers set it to the name of a directory, or to what its files say.
func namesDirectory(name string) bool {
	return slices.Contains([]string{"PWD", "OLDPWD", "INIT_CWD", "PROJECT_CWD", "VIRTUAL_ENV", "DIRENV_DIR", "DIRENV_FILE", "_"}, name) || strings.HasPrefix(strings.ToLower(name), "npm_")
}

func (f *File) entry(r reading, item clients.Item, at edit.Table, byShape map[string]map[string]edit.Server) Entry {
	e := Entry{Entry: r.client.Entry(item), file: f, by: r}
	e.words = f.wordsOf(at, e.Entry, byShape)
	switch {
	case e.words.Ambiguous != nil:
		e.Left, e.Detail = clients.Ambiguous, e.words.Ambiguous.Error()
	case e.Left == "":
		if e.Left = f.reasonToLeave(e); e.Left != "" {
			e.Detail = meaning.Instead(e.Argv())
		} else if r.plugin != nil && r.plugin.Off != "" {
			e.Left, e.Detail, e.Disabled = clients.Disabled, "with "+r.plugin.Title()+", in "+r.plugin.Off, true
		}
	}
	return e
}

// isProject reports whether a project may have brought the entry.
func (s Entry) isProject() bool { return s.file.IsProject() }

// Real returns the path of the file without links, or "" if the file could not be read.
func (f *File) Real() string {
	if f.own == nil {
		return ""
	}
	return f.own.Real
}

// leaveMixed leaves the entries that a client mixes with another of the same name: what it starts is
// in neither of them. files are those that were selected.
func leaveMixed(files []*File, host clients.Host) {
	for _, c := range clients.All() {
		if !c.Mixed || !slices.ContainsFunc(files, func(f *File) bool { return f.isReadBy(c) }) {
			continue
		}
		byName := map[string][]Entry{}
		for _, f := range allOf(c, files, host) {
			for _, e := range f.Entries {
				byName[e.Server] = append(byName[e.Server], e)
			}
		}
		// An entry is left if another one of that name changes what it starts.
		for _, same := range byName {
			for _, e := range same {
				value := e.value()
				other := slices.IndexFunc(same, func(o Entry) bool {
					return (o.file.Real() != e.file.Real() || o.Key() != e.Key()) && c.Changes(value, o.value())
				})
				if other >= 0 && c.Changes(nil, value) { // it starts something by itself
					o := same[other]
					e.file.Entries[e.file.at[e.Key()]].mixed = clients.Reason("is mixed by " + c.Title + " with the entry of that name in " + o.file.Path +
						", line " + strconv.Itoa(o.Line) + ", and what it starts is in neither of the two: give one of them another name")
				}
			}
		}
	}
}

// value returns an entry as its file has it.
func (s Entry) value() any {
	value, _, _ := s.file.parsed.Lookup(s.Path...)
	return value
}

func allOf(c clients.Client, files []*File, host clients.Host) (all []*File) {
	known := map[string]bool{}
	for _, f := range files {
		if f.isReadBy(c) && f.Err == nil {
			known[f.Real()] = true
			all = append(all, f)
		}
	}
	for _, p := range c.Places {
		for _, path := range existing(p, host) {
			real, err := filepath.EvalSymlinks(path)
			if err != nil || known[real] {
				continue
			}
			known[real] = true
			if f := read(host, reading{client: c, place: p}, path); f.Err == nil {
				all = append(all, f)
			}
		}
	}
	return all
}
