package wrapping

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/clients/edit"
	"github.com/mcp-jail/mcp-jail/clients/ownfile"
	"github.com/mcp-jail/mcp-jail/cmd/internal/meaning"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// Selection says which files and servers are meant. The zero value means all servers of the
// clients of the user, and of the project files in the working directory.
type Selection struct {
	Clients []string // as clients.ByName accepts them
	Files   []string // absolute paths
	Servers []string // as the clients call them

	Unasked bool // no person agrees to each change: what a judge of harm asks for is left out

	Windows   []clients.Host // the home directories of a Windows of which this Linux shows the disk
	OfWindows bool           // the files there are meant, too
}

// Has reports whether a server is selected.
func (s Selection) Has(server string) bool {
	return len(s.Servers) == 0 || slices.Contains(s.Servers, server)
}

// File is a file in which a client looks for servers.
type File struct {
	readers
	Place   clients.Place
	Path    string
	Entries []Entry
	Err     error // why it cannot be read or edited; it has no servers then

	host   clients.Host             // as its clients are thought to see it
	waive  map[string][]policy.Axis // see Waive
	at     map[string]int           // the indexes of Entries by Key
	finds  []bool                   // which of the readings find servers
	own    *ownfile.File
	parsed *edit.File
}

// Entry is a server as a file declares it.
type Entry struct {
	clients.Entry
	words edit.Server
	file  *File
	by    reading

	others []Entry        // the same, as other clients find it: see merge
	mixed  clients.Reason // why it is not what a client starts
}

// SelectionError reports a server or file of a selection that is not there.
type SelectionError string

func (e SelectionError) Error() string { return string(e) }

// Find returns the files of a selection that exist, in the order of the clients. Files without
// servers are left out, unless they were named or cannot be read. The error is about the
// selection: a *clients.UnknownError or a SelectionError.
func Find(host clients.Host, sel Selection) ([]*File, error) {
	all := clients.All()
	if len(sel.Clients) > 0 {
		all = nil
		for _, name := range sel.Clients {
			c, err := clients.ByName(name)
			if err != nil {
				return nil, err
			}
			all = append(all, c)
		}
	}
	var files []*File
	var err error
	if len(sel.Files) > 0 {
		files, err = named(host, sel, all)
	} else {
		files = lookFor(host, all)
		for _, h := range sel.Windows {
			if sel.OfWindows {
				files = append(files, lookFor(h, all)...)
			}
		}
	}
	if err != nil {
		return nil, err
	}
	for _, h := range append([]clients.Host{host}, sel.Windows...) {
		leaveMixed(slices.DeleteFunc(slices.Clone(files), func(f *File) bool { return f.host.Mounted != h.Mounted || f.host.Home != h.Home }), h)
	}
	for _, f := range files {
		if f.nameReader(); f.Err == nil && len(f.Entries) == 0 {
			f.Err = f.otherKey()
		}
	}
	files = slices.DeleteFunc(files, func(f *File) bool { return len(sel.Files) == 0 && len(f.Entries) == 0 && f.Err == nil })
	return files, checkServers(files, sel.Servers)
}

func named(host clients.Host, sel Selection, chosen []clients.Client) (files []*File, err error) {
	for _, path := range sel.Files {
		host := meaning.HostOf(path, sel.Windows, host)
		client := ""
		if len(sel.Clients) > 0 {
			client = chosen[0].Name
		}
		c, place, ok := placeOf(path, client, host)
		if _, err := filepath.EvalSymlinks(path); errors.Is(err, fs.ErrNotExist) {
			return nil, SelectionError(path + " does not exist. Nothing was changed.\nTo see the servers of your clients:\n  mcp-jail status")
		}
		byPlugin := pluginReading(path, host, sel)
		ok = ok || byPlugin != nil
		if !ok && len(sel.Clients) > 0 {
			return nil, SelectionError("there is no file of " + c.Title + " that is written like " + path)
		}
		if !ok {
			return nil, SelectionError("there is no client whose servers are in " + path + ": say which client it is for with --client NAME, one of " + strings.Join(clients.Names(), ", "))
		}
		r := reading{client: c, place: place}
		if byPlugin != nil {
			r = *byPlugin
		}
		f := read(host, r, path)
		// The other clients that read the file count, too: what is written must suit all of them.
		clients.EachReader(path, host, func(c clients.Client, p clients.Place) {
			r := reading{client: c, place: p}
			if f.addScope(r, path, f.Real()); len(sel.Clients) == 0 {
				f.add(r, path)
			} else { // its entries are not asked for, and it reads those that are
				f.addClient(c)
			}
		})
		files = append(files, f)
	}
	return files, nil
}

// placeFor returns the place of a client that a file belongs to, or else its first place of the
// format of the file.
func placeFor(c clients.Client, path string, host clients.Host) (clients.Place, bool) {
	for _, p := range c.Places {
		if slices.ContainsFunc(p.LocateAll(host), func(at clients.Location) bool { return at.File == path }) {
			return p, true
		}
	}
	for _, p := range c.Places {
		if editFormat(p.Format) == edit.FormatOf(path) {
			return p, true
		}
	}
	return clients.Place{}, false
}

// Others returns the files that Find returns without a selection, without those that were found.
func Others(host clients.Host, found []*File) []*File {
	known := map[string]bool{}
	for _, f := range found {
		known[f.Real()] = true
	}
	return slices.DeleteFunc(lookFor(host, clients.All()), func(f *File) bool { return len(f.Entries) == 0 || known[f.Real()] })
}

// lookFor returns the files of some clients.
func lookFor(host clients.Host, all []clients.Client) (files []*File) {
	known := map[string]*File{}
	look := func(r reading, path string) {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			real = path
		}
		// Links to one file are one file, read once for all its clients.
		key := fmt.Sprint(editFormat(r.place.Format), real)
		if f := known[key]; f != nil {
			f.add(r, path)
			return
		}
		known[key] = read(host, r, path)
		files = append(files, known[key])
	}
	for _, c := range all {
		for _, p := range c.Places {
			if p.Scope != clients.User && p.Scope != clients.Project {
				continue
			}
			for _, path := range existing(p, host) {
				look(reading{client: c, place: p}, path)
			}
		}
		if !host.Mounted { // their lists have paths of Windows
			eachOfPlugins(c, host, look)
		}
	}
	eachNamed(host, all, look)
	return files
}

func checkServers(files []*File, names []string) error {
	var known []string
	for _, f := range files {
		for _, s := range f.Entries {
			known = append(known, s.Server)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			text := "there is no server " + name
			if slices.Sort(known); known != nil {
				text += "; there is " + strings.Join(slices.Compact(known), ", ")
			}
			return SelectionError(text)
		}
	}
	return nil
}

// read reads a file and its servers. host is what its clients are thought to see.
func read(host clients.Host, r reading, path string) *File {
	c, p := r.client, r.place
	f := &File{readers: readers{Client: c, readings: []reading{r}}, Place: p, Path: path, host: host, waive: map[string][]policy.Axis{}}
	f.own, f.Err = readPlace(path, p)
	at, _ := filepath.EvalSymlinks(path)
	if info, err := os.Stat(at); err == nil && info.IsDir() && strings.Contains(p.Linux, "**/") {
		f.Err = fmt.Errorf("%s: mcp-jail does not look at all files there, and %s may. It looks at the first %d, and follows no symbolic link to a directory. Move the files with servers up, or take the others away", path, c.Title, mostFiles)
	}
	if f.addScope(r, path, f.Real()); f.Err == nil {
		f.parse()
	}
	return f
}

func (f *File) parse() {
	if f.parsed, f.Err = edit.Parse(editFormat(f.Place.Format), f.own.Data); f.Err != nil {
		f.Err = fmt.Errorf("%s: %w", f.Path, f.Err)
		return
	}
	f.at, f.finds = map[string]int{}, nil
	for _, r := range f.readings {
		f.find(r)
	}
}

// maxServers bounds the servers of a file. A person has some ten. A project may come with a file
// that has any number, and the time of the commands grows faster than that number.
const maxServers = 5000

func editFormat(f clients.Format) edit.Format {
	switch f {
	case clients.TOML:
		return edit.TOML
	case clients.YAML:
		return edit.YAML
	}
	return edit.JSON
}

// Key identifies an entry of a file.
func (s Entry) Key() string { return strings.Join(s.Path, "/") }

// HasWrapped reports whether an entry of the file starts mcp-jail.
func (f *File) HasWrapped() bool {
	return slices.ContainsFunc(f.Entries, func(e Entry) bool {
		_, is := clients.ParseWrapped(e.Argv())
		return is
	})
}

// InGit reports whether the file lies in a git work tree, and may so be had by others.
func (f *File) InGit() bool {
	_, repo := Above(filepath.Dir(f.Real()))
	return repo >= 0
}

// Waive has Wrap write into the file of an entry's server what it accepts.
func (f *File) Waive(key string, axes []policy.Axis) { f.waive[key] = axes }

// reasonToLeave returns why wrap leaves an entry for which package clients has no reason.
func (f *File) reasonToLeave(e Entry) clients.Reason {
	line, _ := f.started(e.Argv(), f.host)
	return clients.Reason(meaning.Carried(line))
}

// Started returns words of an entry as its client gives them to the server that it starts.
func (f *File) Started(e Entry, words []string, host clients.Host) []string {
	return meaning.ReplacedAll(e.by.client, words, f.within(host))
}

// wordsOf returns the command line of an entry, as the editor found it under the keys of the
// entry's shape.
func (f *File) wordsOf(table edit.Table, e clients.Entry, byShape map[string]map[string]edit.Server) edit.Server {
	shape := edit.Table{Path: table.Path, Single: table.Single, Command: e.Shape.Command, Args: e.Shape.Args, Env: e.Shape.Env, Nested: e.Shape.Within}
	key := strings.Join([]string{shape.Command, shape.Args, shape.Env, shape.Nested}, "\x00")
	if _, ok := byShape[key]; !ok {
		byShape[key] = map[string]edit.Server{}
		for _, s := range f.parsed.Servers(shape) {
			byShape[key][strings.Join(s.Path, "\x00")] = s
		}
	}
	return byShape[key][strings.Join(e.Path, "\x00")]
}

func eachOfPlugins(c clients.Client, host clients.Host, each func(reading, string)) {
	for _, p := range pluginsOf(c, host) {
		for _, f := range p.Files {
			each(reading{p.Reader(c), f.Place, p}, f.Path)
		}
	}
}

// pluginReading returns how a client reads a file of one of its plugins, or nil for another file.
func pluginReading(path string, host clients.Host, sel Selection) (found *reading) {
	for _, c := range clients.All() {
		if sel.selects(c) {
			eachOfPlugins(c, host, func(r reading, at string) {
				if at == path && found == nil {
					found = &r
				}
			})
		}
	}
	return found
}

// TakeOver has the file of an id take over other words with which it was started, if an entry of the user's own has
// exactly this line, and returns where that is. It returns "" if there is none, or if another entry has the words of
// the file. Variables of the start move no file of a client: an entry of a project's file may have set them.
func TakeOver(configDir string, host clients.Host, id string, given []string) (place string, err error) {
	files, err := Find(clients.Host{OS: host.OS, Home: host.Home, Env: func(string) string { return "" }, Named: host.Named}, Selection{})
	if err != nil {
		return "", err
	}
	err = config.ChangeServers(configDir, func(servers []*config.ServerFile, _ []error) ([]*config.ServerFile, error) {
		at := slices.IndexFunc(servers, func(f *config.ServerFile) bool { return f.Server.ID == id })
		if at < 0 {
			return servers, nil
		}
		var words []string
		for _, f := range files {
			if f.IsProject() || f.Plugin() != nil {
				continue
			}
			for _, e := range f.Entries {
				line, _ := clients.ParseWrapped(e.Argv())
				if line.ID != id || len(line.Argv) == 0 {
					continue
				}
				switch saved := e.behind(line).saved(host.Home); {
				case isLine(servers[at], saved):
					place = ""
					return servers, nil
				case words == nil && records.SameWords(saved, given):
					words, place = saved, fmt.Sprintf("%s, line %d", f.Path, e.Line)
				}
			}
		}
		if words != nil {
			servers[at].Server.Command, servers[at].Server.Arguments = words[0], words[1:]
		}
		return servers, nil
	})
	return place, err
}
