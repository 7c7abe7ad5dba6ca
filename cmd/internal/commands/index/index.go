// Package index has one list of all servers of a user, and finds the one that a word means. Every command that is
// about a server starts there.
//
//   - index.go reads the list: of clients' files, of mcp-jail's files and tables, and of what is kept.
//   - entry.go has a server as a client's file declares it, and pick.go finds one by a word.
//   - started.go tells what servers are started from, and who may write there.
//   - stored.go and pins.go read the records, removal.go lists the files to remove, and do.go removes them.
//   - configuration.go finds faults of the configuration, program.go finds the program that clients start, and
//     gaps.go what this host cannot enforce.
//
// # What mcp-jail keeps of a server
//
// [LookStored] tells what mcp-jail keeps of the servers of one user, and removes it.
//
//	all, err := index.LookStored(host)
//	removal, err := all.Removal([]*index.StoredServer{all.Server("server-memory")})
//	... // show it, and ask
//	err = removal.Do()
//
// Of a server, mcp-jail keeps these things:
//
//	STATE/servers/NAME/home, home-…       its private HOMEs: the server's own data. A project's server
//	                                      has NAME-HASH, and in older states NAME/home-HASH
//	STATE/servers/NAME/last.json, …       the records of its sessions
//	STATE/servers/NAME/undo               the files that mcp-jail undo can put back
//	CONFIG/mcp-jail.lock                  the pin of its package
//	DATA/packages/…                       the files of its package
//
// A [StoredServer] joins them. One that was installed and never started has no directory, and one
// that is no package has no pin.
//
// A [Removal] is a list that can be shown before anything happens. [Removal.Do] first takes
// the directories of the servers from all sessions, and refuses a server that runs. It then
// removes the pins, then the files of packages, then the directories. Each directory is moved
// to STATE/removed in one step before it is deleted. So a crash leaves a server with all of
// its data, or without any.
//
// Limits:
//
//   - A pin that another server uses stays, and so do the files of a package that a remaining
//     pin names.
//   - Which servers use a pin is known from their sessions and from the configuration that
//     applies in the working directory. Configurations of other projects are not read.
//   - Sizes are the sums of the sizes of files. Files of a package that several servers use count
//     for each of them.
//
// # Gaps of this host
//
// A gapFinder ([NewGapFinder]) finds what this host cannot enforce of what the entries of clients ask for, so that
// wrap can ask about it, and status can show it.
//
// It compiles the policy of an entry as a start does. Whether a jail can be built at all it
// finds out by building one. A [GapNeed] is the result for one entry.
package index

import (
	"cmp"
	"errors"
	"os"
	"runtime"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/meaning"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// An Index has the servers of one user: those of clients' files and of plugins, those with files and tables of
// mcp-jail's, and those of which something is kept.
type Index struct {
	Host    hostfs.Host
	Files   []*wrapping.File // of clients
	Servers []*Server
	Broken  []error // files of servers that cannot be used

	Ignored *config.UntrustedError // the project's file that was left out; nil for none
	Err     error                  // why the configuration, or what is kept, could not be read: its servers are missing

	Stored    *Stored
	StoredErr error // why some of it is missing

	Program    Program // as clients start it
	ProgramErr error   // why there is none: no entry is known to be jailed then

	clients clients.Host
	servers config.Servers
	files   []*config.ServerFile
	tables  map[string]*config.Config             // of each directory
	joined  map[string]*Server                    // by key, or by signature
	of      map[*wrapping.File]map[string]*Server // of entries, by their keys
	named   map[string][]*Server                  // those with a key, by their names
	started *started                              // nil before it is asked for
}

// A Server is one server, with all that names it.
type Server struct {
	Name   string   // see Index.name
	Key    string   // under which mcp-jail keeps what belongs to it; "" if only its start can tell
	Called []string // by clients and people
	Words  []string // its line, with the client's variables and without their values
	Dir    string   // where it starts; "" if only its client knows

	Entries  []*Entry
	File     *config.ServerFile // nil if it has none
	TwoFiles bool               // have its id, and it does not start
	Table    *config.Server     // nil if it has none here
	Kept     *StoredServer      // nil if nothing is kept

	home string
}

// Switches returns which of its tools are off, as its file or table says.
func (s *Server) Switches() policy.Switches {
	switch {
	case s.File != nil:
		return s.File.Server.Switches()
	case s.Table != nil:
		return s.Table.Switches()
	}
	return nil
}

// Read returns the index. With chosen files it has the servers of these alone.
func (s *Choice) Read() (*Index, error) {
	host, files, err := s.Find()
	if err != nil {
		return nil, err
	}
	program, err := FindProgram(host)
	x := s.read(host, files, program)
	x.ProgramErr = err
	return x, nil
}

func (s *Choice) read(host hostfs.Host, files []*wrapping.File, program Program) *Index {
	x := &Index{Host: host, Files: files, Program: program, clients: ClientsHost(host), tables: map[string]*config.Config{}, joined: map[string]*Server{}, of: map[*wrapping.File]map[string]*Server{}}
	x.servers = config.ReadServers(host.ConfigDir)
	x.files, x.Broken = x.servers()
	if x.Stored, x.StoredErr = KnownStored(host); x.StoredErr != nil {
		x.Err = x.StoredErr
	}
	// Files of the project come last, because others may have written them.
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b *wrapping.File) int {
		return cmp.Compare(cli.FalseFirst(a.IsProject()), cli.FalseFirst(b.IsProject()))
	})
	for _, f := range files {
		x.of[f] = map[string]*Server{}
		for _, e := range f.Entries {
			x.of[f][e.Key()] = x.addEntry(f, e)
		}
	}
	x.addKnown(s.Everything())
	x.name()
	return x
}

// addKnown adds what mcp-jail itself knows of servers: their files, the tables here, and what is kept. Without isNew, it is only added to
// servers that are there.
func (x *Index) addKnown(isNew bool) {
	for _, f := range x.files {
		if s := x.unwrapped(f); s != nil {
			s.File = f
			continue
		}
		x.join(&Server{Key: f.Server.ID, File: f, Words: f.Words()}, isNew)
	}
	cfg, err := x.tablesOf(x.Host.Dir)
	if err != nil {
		x.Err = err
	} else {
		for _, name := range cfg.ServerNames() {
			t := cfg.Servers[name]
			x.join(&Server{Key: policy.KeptName(name, t.Project), Called: []string{name}, Table: t}, isNew)
		}
	}
	for _, k := range x.Stored.Servers {
		one := &Server{Key: k.Name, Called: []string{cmp.Or(k.About.Name, k.Called())}, Kept: k, Words: k.About.Command}
		if c := k.About.Configuration; c != nil {
			one.Dir = c.Workspace
		}
		x.join(one, isNew)
	}
}

// Read returns the index of all servers.
func Read() (*Index, error) { return (&Choice{}).Read() }

// join adds what one place says of a server to what others say. Without them it is a new server, if that is wanted.
func (x *Index) join(s *Server, isNew bool) *Server {
	same := s.Key
	s.home = x.Host.Home
	if same == "" {
		same = s.Entries[0].signature()
	}
	o := x.joined[same]
	switch {
	case o == nil && isNew:
		x.Servers = append(x.Servers, s)
		x.joined[same] = s
		return s
	case o != nil:
		o.TwoFiles = o.TwoFiles || o.File != nil && s.File != nil
		o.Dir, o.File, o.Table, o.Kept = cmp.Or(o.Dir, s.Dir), cmp.Or(o.File, s.File), cmp.Or(o.Table, s.Table), cmp.Or(o.Kept, s.Kept)
		o.Entries = append(o.Entries, s.Entries...)
		if o.Words == nil {
			o.Words = s.Words
		}
		for _, name := range s.Called {
			if !slices.Contains(o.Called, name) {
				o.Called = append(o.Called, name)
			}
		}
	}
	return o
}

// Of returns the server of an entry.
func (x *Index) Of(f *wrapping.File, e wrapping.Entry) *Server { return x.of[f][e.Key()] }

// unwrapped returns the server of the user's own that has the words of a file and no mcp-jail in front, or nil: wrap offers it the file
// again.
func (x *Index) unwrapped(f *config.ServerFile) *Server {
	for _, s := range x.Servers {
		if x.joined[f.Server.ID] == nil && s.Key == "" && s.File == nil && len(s.Entries) > 0 && s.Entries[0].flags == nil && !s.Entries[0].File.IsProject() && slices.Equal(s.Words, f.Words()) {
			return s
		}
	}
	return nil
}

// addEntry adds the server of an entry, and returns it.
func (x *Index) addEntry(f *wrapping.File, e wrapping.Entry) *Server {
	one := &Entry{File: f, Entry: e, home: x.Host.Home, servers: x.servers}
	one.judge = sync.OnceValue(func() wrapping.Verdict { return f.Judge(e, x.Program.Program, x.clients) })
	s := &Server{Called: []string{e.Server}, Words: e.Argv(), Entries: []*Entry{one}}
	raw, wrapped := clients.ParseWrapped(e.Argv())
	if wrapped {
		one.line = raw
		one.line.Flags, one.line.Argv = f.Started(e, raw.Flags, x.clients), f.Started(e, raw.Argv, x.clients)
		one.flags, one.err = cmdline.ParseRun(append([]string{"run"}, one.line.Flags...))
		if hint := cmdline.MissingDashes(append([]string{"run"}, one.line.Flags...), cmdline.Server{Given: raw.Argv != nil, Argv: one.line.Argv}); one.err != nil && hint != "" {
			one.err = errors.New(hint)
		}
		s.Words = raw.Argv
	}
	switch {
	case !wrapped || one.err != nil || one.flags.ID != "" && f.IsProject(): // an id in a file of others is stolen
		s.Dir = x.startDir(one)
	case raw.Argv == nil:
		x.ofTable(s, one)
	case one.flags.ID != "":
		s.Key, s.Dir = one.flags.ID, x.startDir(one)
	default:
		s.Dir = x.startDir(one)
		x.ofLine(s, one)
	}
	return x.join(s, true)
}

// ofTable finds the key of a server of the configuration, which an entry starts by its name.
func (x *Index) ofTable(s *Server, e *Entry) {
	s.Key = e.line.Name
	if e.line.Name != e.Server {
		s.Called = append(s.Called, e.line.Name)
	}
	if len(e.flags.Config) > 0 {
		return // another configuration: see Entry.Configuration
	}
	s.Dir = x.startDir(e)
	cfg, err := x.tablesOf(cmp.Or(x.configDir(e), x.Host.Dir))
	if err != nil {
		return
	}
	if s.Table = cfg.Servers[e.line.Name]; s.Table != nil {
		s.Key = policy.KeptName(e.line.Name, s.Table.Project)
	}
}

// ofLine finds the key of a line without an id: by where it starts, or by the one line that was started and can
// be its.
func (x *Index) ofLine(s *Server, e *Entry) {
	if s.Dir != "" && !slices.ContainsFunc(e.line.Argv, e.File.References) {
		host := x.Host
		host.Dir = s.Dir
		s.Key = session.KeyOf(host, e.line.Argv)
		return
	}
	for _, k := range x.Stored.Servers {
		c := k.About.Configuration
		if c == nil || c.ID == "" || c.Configured || s.Dir != "" && s.Dir != c.Workspace || !records.SameWords(e.line.Argv, k.About.Command) {
			continue
		}
		if s.Key != "" { // it may be either
			s.Key, s.Dir = "", ""
			return
		}
		s.Key, s.Dir = c.ID, c.Workspace
	}
}

// tablesOf returns the configuration that holds in a directory, without a project's file that is not trusted.
func (x *Index) tablesOf(dir string) (cfg *config.Config, err error) {
	if cfg = x.tables[dir]; cfg != nil {
		return cfg, nil
	}
	cfg, ignored, err := session.LoadTrusted(config.LoadOptions{Workspace: dir}, x.Host)
	if ignored != nil && dir == x.Host.Dir {
		x.Ignored = ignored
	}
	if err == nil {
		x.tables[dir] = cfg
	}
	return cfg, err
}

// startDir returns the directory in which a client starts an entry, or "" if it is not known. An entry for all
// projects has one in each of them, and not where the user is.
func (x *Index) startDir(e *Entry) string {
	host := x.clients
	everywhere := !e.File.IsProject() && e.For == ""
	elsewhere := slices.ContainsFunc(append([]clients.Client{e.File.Client}, e.File.Also...), func(c clients.Client) bool { return c.Dir != clients.DirProject && c.Dir != clients.DirOpen })
	if e.Cwd == "" && (everywhere || elsewhere) {
		return ""
	}
	if everywhere {
		host.Project = ""
	}
	dir := e.File.StartDir(e.Entry, host)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return ""
	}
	return dir
}

// Place says where a server is declared, or what is known of it else.
func (s *Server) Place() string {
	switch {
	case len(s.Entries) > 0:
		e := s.Entries[0]
		return e.File.Client.Title + " (" + e.Place() + ")"
	case s.Table != nil:
		return "table of the configuration (" + show.Line(cli.ShortPath(s.Table.Where, s.home)) + ")"
	case s.File != nil:
		return show.Line(cli.ShortPath(s.File.Path, s.home))
	case s.Dir != "":
		return "started by hand in " + show.Line(cli.ShortPath(s.Dir, s.home)) + ":  " + cli.Clip(terminal.ShownLine(s.Words), maxLine)
	}
	return "stored since an earlier session or installation"
}

// maxLine is the most that is shown of a line beside its server's name.
const maxLine = 60

// Title names a server, and says where it is declared.
func (s *Server) Title() string {
	if len(s.Entries) > 0 {
		return show.Name(s.Name) + " of " + s.Place()
	}
	return show.Name(s.Name) + " (" + s.Place() + ")"
}

// IsOwn reports whether the user has declared a server: no project, no plugin and no line by hand.
func (s *Server) IsOwn() bool {
	return s.File != nil && records.IsID(s.Key) || s.Table != nil || slices.ContainsFunc(s.Entries, func(e *Entry) bool { return !e.File.IsProject() })
}

// EntryIn returns the entry of a server that counts in a directory; nil if it has none. One for another project counts if there is
// no other.
func (s *Server) EntryIn(dir string) *Entry {
	for _, project := range []string{dir, ""} {
		for _, e := range s.Entries {
			if e.For == project {
				return e
			}
		}
	}
	if len(s.Entries) == 0 {
		return nil
	}
	return s.Entries[0]
}

// IsJailed reports whether a server starts in a jail of this mcp-jail: by its name, or as a client starts it.
func (s *Server) IsJailed() bool {
	return s.Table != nil || slices.ContainsFunc(s.Entries, func(e *Entry) bool { return e.whyOpen() == "" })
}

// IsDeclared reports whether a client or the configuration has a server.
func (s *Server) IsDeclared() bool { return s.Table != nil || len(s.Entries) > 0 }

// EntryByName returns the entry of the user's own that starts a server of the configuration by its name; nil for none.
func (s *Server) EntryByName() *Entry {
	for _, e := range s.Entries {
		if !e.File.IsProject() && e.Verdict().State == wrapping.Jailed && e.line.Argv == nil {
			return e
		}
	}
	return nil
}

// Choice is what the flags --client, --file and --server choose. Without them it is all files
// of the user's clients, and the project files in the working directory.
type Choice struct {
	wrapping.Selection
}

// onlyThese is the text of the flags that choose.
const onlyThese = "Only this client, file or server (repeatable)"

func (s *Choice) AddFlags(cmd *cobra.Command) {
	s.AddFileFlags(cmd)
	cli.AddFlags(cmd, cmdline.Flag{Name: "server", Value: "NAME", Many: &s.Servers, Usage: onlyThese})
}

// AddFileFlags adds the flags that choose files, and not the one that chooses servers.
func (s *Choice) AddFileFlags(cmd *cobra.Command) {
	cli.AddFlags(cmd,
		cmdline.Flag{Name: "client", Value: "NAME", Many: &s.Clients, Usage: onlyThese},
		cmdline.Flag{Name: "file", Value: "FILE", Many: &s.Files, Usage: onlyThese})
}

func (s *Choice) Everything() bool {
	return len(s.Clients) == 0 && len(s.Files) == 0
}

// Find returns the selected files.
func (s *Choice) Find() (hostfs.Host, []*wrapping.File, error) {
	host, err := hostfs.LocalHost()
	if err != nil {
		return host, nil, err
	}
	for i, f := range s.Files {
		if s.Files[i], err = session.AbsolutePath(f); err != nil {
			return host, nil, err
		}
	}
	s.Windows = meaning.WindowsHosts("/")
	files, err := wrapping.Find(ClientsHost(host), s.Selection)
	var unknown *clients.UnknownError
	var missing wrapping.SelectionError
	// The flags are wrong, not a file.
	if errors.As(err, &unknown) || errors.As(err, &missing) {
		err = terminal.UsageErrorf("%s", err)
	}
	return host, files, err
}

// ClientsHost returns the host as package clients knows it.
func ClientsHost(host hostfs.Host) clients.Host {
	above, repo := wrapping.Above(host.Dir)
	return clients.Host{OS: runtime.GOOS, Home: host.Home, Project: host.Dir, Above: above, Repo: repo, Env: os.Getenv, Named: wrapping.Remembered(host.StateDir)}
}
