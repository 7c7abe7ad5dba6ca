// Package config reads the configuration: TOML files, their layers, the trust in project
// files, and the flags of a server that is given on the command line. [Load] and
// [FromCommandLine] are its entry points; [Config.Policy] returns the policy of one server
// or tool, with all defaults filled in.
//
// [Decode] reports all problems of a file at once, each with file, line and key. The layers
// are the system's, the user's and the project's file, in this order. Values of a later
// layer replace earlier ones; rules are appended unless a strategy says otherwise. A project
// file counts only if the user trusted exactly this content (see [TrustStore]). It declares
// servers of its own (project.go), and takes away from those of the user (narrow.go).
//
// Each key has one row, in keys.go, keys_rules.go or settings.go, with its type, bounds, default and text. The
// decoder, the encoder, the layers and the schema for editors (docs/mcp-jail.schema.json, which a test writes) range
// over the rows. The decoder refuses more than the schema: keys that contradict each other, texts that a regular
// expression cannot tell, a server without a command.
//
// A server may name a preset. This package does not know what the preset says: before its
// caller asks for a policy, it lays the table of the preset below the server's own
// ([Config.LayBelow]).
//
// # Limits
//
//   - A configuration file has at most 1 MiB and 16 levels of nesting.
//   - A file that another user owns or may write is refused, unless it is a project's file,
//     whose content is trusted. On Windows, owners are not checked.
//   - The package reads its own files and looks up their owners. It does not look at the
//     paths, programs or variables that a policy names: package policy/resolve does.
//
// Below the package, internal/reader reads the values of a table, keeps what the user accepted, and tells
// which files have changed.
package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config/internal/reader"
)

// Config is the content of one file, or of the merged layers. It contains only what was
// written; [Config.Policy] fills in defaults.
type Config struct {
	Version  int // 0 if the file has none; the only version is 1
	Defaults *Defaults
	Servers  map[string]*Server
	Files    []string          // the files that were read, first layer first
	broken   map[string]error  // of tables that a file of a server says it belongs to
	ids      map[string]string // of servers with files of their own, by their names
	// NarrowedIDs are those from which the project's file takes away: see LoadOptions.ID.
	NarrowedIDs []string
	// narrowing are the tables of the project's file for servers of the user: see Server.narrow.
	narrowing map[string]*Server
}

// Server is one [servers.NAME] table. Pointers are nil where the key is absent.
type Server struct {
	Name      string
	ID        string // of a server with a file of its own: see ServerFile
	Directory string // where such a server starts, "" for what its start decides
	Preset    string // the name of the table that is laid below this one: see Config.LayBelow
	Command   string
	Arguments []string
	Workspace string
	Stateful  *bool
	Variables []policy.EnvRule // all with Read; exact in a file, prefixes too on the command line
	Home      string           // "", "private" or "real"
	Settings  Settings
	Waive     []policy.Axis
	Access    *Access
	Tools     map[string]*Tool
	// Merge says how a list joins the lists of earlier layers. The keys are
	// "arguments", "variables" and "waive".
	Merge map[string]strategy
	Where string
	// Project is the project's file if it names the program of the server. The server is
	// then not the user's server of that name. Otherwise it is "". Load sets it.
	Project     string
	PresetWhere string // the place of the key preset
	replaces    string // where the user's own server of that name is
	// layers are the tables that were merged into this one, first layer first. There are none
	// in a table that was only decoded.
	layers   []*Server
	hasBelow bool             // LayBelow has laid a preset below the table
	warnings []policy.Warning // of LayBelow
}

// Tool is one [servers.NAME.tools.TOOL] table.
type Tool struct {
	Allow   *bool // nil: that of the table AnyTool, else true
	allowAt string
	Access  *Access
	Warm    *int // nil: that of the table AnyTool, else the server's
	Where   string
	below   bool // only a preset has the table: see Config.LayBelow
}

// Access is one access table. A nil list is not in the table; an empty list is. Access that a
// table does not list is refused, except that any program may start where Commands is nil.
type Access struct {
	// Workspace is "write", "read", "none" or "": see Access.word.
	Workspace      string
	workspaceAt    string // "" if no file has the word
	Fs             []policy.FsRule
	Net            []policy.NetRule
	Inbound        []policy.InboundRule
	Env            []policy.EnvRule
	Commands       map[string][]policy.CommandRule // nil: any program; empty: none but the server's own; several rules for one add up
	SensitivePaths []string
	sensitiveAt    map[string]string // their places, in a table that was decoded
	// Merge is as in Server; the keys are "fs", "net", "inbound" and "env".
	Merge map[string]strategy
	Where string // "" for a table that no file and no flag has
}

// isDeclared reports whether a file or flags have the table.
func (a *Access) isDeclared() bool { return a != nil && a.Where != "" }

// hasRules reports whether the table says what the server may do: it grants something, or has an empty list
// or nothing at all. Denials, sensitive paths and the word for the workspace alone do not.
func (a *Access) hasRules() bool {
	switch {
	case a == nil:
		return false
	case a.Inbound != nil || a.Commands != nil, a.Fs != nil && len(a.Fs) == 0, a.Net != nil && len(a.Net) == 0, a.Env != nil && len(a.Env) == 0:
		return true
	case a.Fs == nil && a.Net == nil && a.Env == nil:
		return a.isDeclared() && a.SensitivePaths == nil && a.Workspace == ""
	}
	return slices.ContainsFunc(a.Fs, func(r policy.FsRule) bool { return r.Rights() != 0 }) ||
		slices.ContainsFunc(a.Net, func(r policy.NetRule) bool { return r.Allow }) || slices.ContainsFunc(a.Env, func(r policy.EnvRule) bool { return r.Read })
}

// denials returns a table with what this one takes away.
func (a *Access) denials() *Access {
	only := &Access{SensitivePaths: a.SensitivePaths}
	for _, r := range a.Fs {
		if r.Deny != 0 {
			only.Fs = append(only.Fs, r)
		}
	}
	for _, r := range a.Net {
		if !r.Allow {
			only.Net = append(only.Net, r)
		}
	}
	for _, r := range a.Env {
		if !r.Read {
			only.Env = append(only.Env, r)
		}
	}
	return only
}

// word returns what the table says of the workspace: the word that is written, and "none" beside rules without one.
// "" is that of a table which says nothing of it, and only takes away.
func (a *Access) word() string {
	switch {
	case a != nil && a.Workspace != "":
		return a.Workspace
	case a.hasRules():
		return "none"
	}
	return ""
}

// workspace returns what the server may do in its workspace beside the rules: "write", "read" or "none".
func (a *Access) workspace() string { return cmp.Or(a.word(), "write") }

// writeWords writes the word for the workspace into the tables that say it by their rules, and into that of the server.
func (s *Server) writeWords() {
	if s.Access == nil {
		s.Access = &Access{}
	}
	s.Access.Workspace = s.Access.workspace()
	for _, a := range s.accesses() {
		a.Workspace = a.word()
	}
}

// isWord reports whether the table has the word for the workspace alone.
func (a *Access) isWord() bool {
	return a.Workspace != "" && a.Fs == nil && a.Net == nil && a.Inbound == nil && a.Env == nil && a.Commands == nil && a.SensitivePaths == nil
}

// strategy says how a list of a later layer joins the earlier one.
type strategy string

const (
	Append  strategy = "append"  // after the earlier ones: the default of rules
	prepend strategy = "prepend" // before the earlier ones
	replace strategy = "replace" // instead of the earlier ones: the default of arguments
	dedup   strategy = "dedup"   // append what is not there yet
)

// IsStateful reports whether one process serves the whole session (the default).
func (s *Server) IsStateful() bool { return s.Stateful == nil || *s.Stateful }

// ServerNames returns the configured servers, sorted.
func (c *Config) ServerNames() []string { return slices.Sorted(maps.Keys(c.Servers)) }

func (c *Config) overlay(later *Config) {
	if later.Version != 0 {
		c.Version = later.Version
	}
	c.Files = append(c.Files, later.Files...)
	if later.Defaults != nil {
		if c.Defaults == nil {
			c.Defaults = &Defaults{}
		}
		c.Defaults.overlay(later.Defaults)
	}
	for _, name := range slices.Sorted(maps.Keys(later.Servers)) {
		if c.Servers == nil {
			c.Servers = map[string]*Server{}
		}
		if c.Servers[name] == nil {
			c.Servers[name] = &Server{Name: name}
		}
		c.Servers[name].overlay(later.Servers[name])
	}
}

func (s *Server) overlay(l *Server) {
	// LayBelow needs the tables as they were before they were merged.
	s.layers = append(s.layers, l)
	s.Settings = l.Settings.over(s.Settings)
	if l.Preset != "" {
		s.Preset, s.PresetWhere = l.Preset, l.PresetWhere
	}
	s.Command = cmp.Or(l.Command, s.Command)
	s.Workspace = cmp.Or(l.Workspace, s.Workspace)
	s.Home = cmp.Or(l.Home, s.Home)
	s.Where = cmp.Or(l.Where, s.Where)
	s.Stateful = cmp.Or(l.Stateful, s.Stateful)
	// Arguments belong to a command: appending a second list to the first
	// would build a command line that neither layer contains.
	s.Arguments = joinLists(s.Arguments, l.Arguments, l.Merge["arguments"], replace, func(a, b string) bool { return a == b })
	s.Variables = joinLists(s.Variables, l.Variables, l.Merge["variables"], Append, sameEnv)
	s.Waive = joinLists(s.Waive, l.Waive, l.Merge["waive"], Append, func(a, b policy.Axis) bool { return a == b })
	if l.Access != nil {
		if s.Access == nil {
			s.Access = &Access{}
		}
		s.Access.overlay(l.Access)
	}
	for _, name := range slices.Sorted(maps.Keys(l.Tools)) {
		if s.Tools == nil {
			s.Tools = map[string]*Tool{}
		}
		t, lt := s.Tools[name], l.Tools[name]
		if t == nil {
			t = &Tool{}
			s.Tools[name] = t
		}
		t.Where = cmp.Or(lt.Where, t.Where)
		t.Warm = cmp.Or(lt.Warm, t.Warm)
		if lt.Allow != nil {
			t.Allow, t.allowAt = lt.Allow, lt.allowAt
		}
		if lt.Access != nil {
			if t.Access == nil {
				t.Access = &Access{}
			}
			t.Access.overlay(lt.Access)
		}
	}
}

// copied returns a table with lists of its own. That of nil is nil.
func (a *Access) copied() *Access {
	if a == nil {
		return nil
	}
	out := &Access{}
	out.overlay(a)
	return out
}

func (a *Access) overlay(l *Access) {
	word := a.word() // before the lists: an empty table says more than one with the denials of l
	if l.Workspace != "" || word == "" {
		word, a.workspaceAt = l.word(), l.workspaceAt
	}
	a.Workspace, a.Where = word, cmp.Or(l.Where, a.Where)
	a.Fs = joinLists(a.Fs, l.Fs, l.Merge["fs"], Append, sameFs)
	a.Net = joinLists(a.Net, l.Net, l.Merge["net"], Append, sameNet)
	a.Inbound = joinLists(a.Inbound, l.Inbound, l.Merge["inbound"], Append, sameInbound)
	a.Env = joinLists(a.Env, l.Env, l.Merge["env"], Append, sameEnv)
	// No layer can shorten this list: no strategy here.
	a.SensitivePaths = joinLists(a.SensitivePaths, l.SensitivePaths, dedup, dedup, func(x, y string) bool { return x == y })
	if l.Commands != nil && a.Commands == nil {
		a.Commands = map[string][]policy.CommandRule{}
	}
	// A later layer replaces the rules for a program: together they would allow more than either.
	for name, rules := range l.Commands {
		a.Commands[name] = rules
	}
}

func joinLists[T any](earlier, later []T, s, preset strategy, same func(a, b T) bool) []T {
	if later == nil {
		return earlier // not mentioned
	}
	if s == "" {
		s = preset
	}
	switch s {
	case replace:
		return slices.Clone(later)
	case prepend:
		return append(slices.Clone(later), earlier...)
	case dedup:
		out := append([]T{}, earlier...)
		for _, l := range later {
			if !slices.ContainsFunc(out, func(e T) bool { return same(e, l) }) {
				out = append(out, l)
			}
		}
		return out
	}
	return append(append([]T{}, earlier...), later...) // an empty list stays one that was mentioned
}

func sameFs(a, b policy.FsRule) bool { a.Where, b.Where = "", ""; return a == b }

func sameNet(a, b policy.NetRule) bool { return slices.Equal(a.TOMLFields(), b.TOMLFields()) }

func sameInbound(a, b policy.InboundRule) bool { return a.Port == b.Port && a.Preset == b.Preset }

func sameEnv(a, b policy.EnvRule) bool { a.Where, b.Where = "", ""; return a == b }

// Decode reads one file that is the whole configuration. Its error is [policy.Problems]:
// all problems of the file at once, each with file, line and key. It does not read the
// disk; file is only a name.
func Decode(data []byte, file string) (*Config, error) {
	c, problems := decodeLayer(data, file)
	if len(problems) == 0 {
		problems = c.validate()
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return c, nil
}

// decodeLayer reads one of several files. It leaves out the checks that need the merged
// configuration, such as that for a missing command.
func decodeLayer(data []byte, file string) (*Config, policy.Problems) {
	if text := strings.TrimLeft(string(data[:min(len(data), 1<<10)]), "\ufeff \t\r\n"); strings.HasPrefix(text, "{") {
		return &Config{}, policy.Problems{{File: file, Line: 1, Message: "is JSON, like a client's configuration, but must be TOML: write [servers.NAME] with command, arguments and variables"}}
	}
	in, root := reader.New(data, file)
	c := &Config{Files: []string{file}}
	in.Read(root, "", value{Kind: show.Table, Keys: c.keys()})
	return c, in.Problems
}

func (c *Config) validate() (ps policy.Problems) {
	for _, name := range c.ServerNames() {
		ps = append(ps, c.Servers[name].validate()...)
		if n := c.narrowing[name]; n != nil {
			with := *n
			with.Stateful = c.Servers[name].Stateful
			ps = append(ps, with.checkScope("servers."+show.Key(name))...)
		}
	}
	return ps
}

func (s *Server) validate() policy.Problems {
	var ps policy.Problems
	key := "servers." + show.Key(s.Name)
	if s.Command == "" {
		ps = append(ps, policy.ProblemAt(s.Where, key+".command", "[%s] has no command", key))
	}
	return append(ps, s.checkScope(key)...)
}

// checkScope refuses an access table that cannot be applied to any process
// (docs/reference.md "Stateful and stateless").
func (s *Server) checkScope(key string) (ps policy.Problems) {
	refuse := func(table string, a *Access, format string, args ...any) {
		ps = append(ps, policy.ProblemAt(a.Where, table, "[%s] cannot be enforced: server %q is %s", table, s.Name, fmt.Sprintf(format, args...)))
	}
	ps = s.checkSwitches(key)
	names := slices.Sorted(maps.Keys(s.Tools))
	if s.IsStateful() {
		for _, name := range names {
			if a := s.Tools[name].Access; a.isDeclared() {
				refuse(key+".tools."+show.Key(name)+".access", a, "stateful.\n"+
					"  The server runs as one shared process, so a policy for one tool cannot be applied.\n"+
					"  Declare access for the whole server in  [%s.access]\n"+
					"  or set  stateful = false  so that each call gets its own process.", key)
			}
		}
		return ps
	}
	if s.Access.isDeclared() && !s.Access.isWord() {
		tool := "TOOL"
		if len(names) > 0 {
			tool = show.Key(names[len(names)-1]) // not "*"
		}
		refuse(key+".access", s.Access, "stateless.\n"+
			"  Each call gets its own process, so there is no process that a policy for the whole server could be applied to.\n"+
			"  Declare access for each tool in  [%s.tools.%s.access]\n"+
			"  or set  stateful = true  so that one process serves the whole session.", key, tool)
	}
	return ps
}
