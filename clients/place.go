package clients

import (
	"path"
	"strings"
)

// Place is a file in which a client looks for servers. The same file can be a place of several
// clients, which may find different servers in it. An entry that several find is wrapped for all.
//
// The three paths are written as a person of that system would write them. They start with
// "~/", with a variable ($NAME or %NAME%), with the root, or else in the directory of the
// project. An element "*" stands for any one name, and "**" for any folders below each other, or
// none. An empty path means that the client does
// not exist on that system, or has no such file there.
type Place struct {
	Scope   Scope
	Label   string // tells places of one scope apart, such as "Insiders"
	Linux   string
	MacOS   string
	Windows string
	Moves   []Move // the first whose variable is set decides
	Format  Format
	Tables  []Table
	Bare    bool     // a file that has none of the tables is itself one
	Single  bool     // a file that has none of the tables is an entry, named after the file
	Line    []string // the keys of a text that is the command line of one more server
	Brought bool     // plugins fill the folders in which it is looked for, and not the user
	Above   Reach    // how far up a place of a project also counts
}

// Move is an environment variable that moves a file on every system.
type Move struct {
	Env string
	To  string // a path like those of Place
}

// Scope says for whom a file counts.
type Scope string

// Scopes.
const (
	User    Scope = "user"    // for this user, everywhere
	Project Scope = "project" // for all who work on a project; the file is below its directory
	System  Scope = "system"  // for all users of the machine
	Managed Scope = "managed" // imposed by an administrator; never changed
)

// Format is the syntax of a file.
type Format string

// Formats. A client whose file is JSON refuses comments. One that accepts comments, and
// perhaps commas before a closing bracket, has JSONC.
const (
	JSON  Format = "json"
	JSONC Format = "jsonc"
	TOML  Format = "toml"
	YAML  Format = "yaml"
)

// Any is an element of a table's path that stands for every key.
const Any = "*"

// Table is where the servers are in a file. Its path consists of whole keys, from the root;
// a dot in a key is a part of it. The table maps the names of servers to their entries. If
// List is set, it is a list of entries, and each has its name at the key "name". If Single is set,
// it is an entry, which the reader names.
type Table struct {
	Path   []string
	List   bool
	Single bool
}

// Host is what the location of a file depends on.
type Host struct {
	OS      string              // as in runtime.GOOS; the systems beside darwin and windows count as Linux
	Home    string              // the home directory
	Project string              // the directory of the project; "" for none
	Above   []string            // the directories above it, from the nearest to the root
	Repo    int                 // how many of Above belong to the repository of the project; -1 if there is none
	Env     func(string) string // the environment; nil for an empty one
	Mounted bool                // a disk of Windows that Linux shows: the places are those of Windows, and paths have slashes
}

// Location is where a place is on a host: one file, or those below a directory whose path
// matches a pattern. The pattern has slashes on every system, as io/fs has.
type Location struct {
	File string

	Dir     string
	Pattern string
}

// Reach says in which directories above a project a client looks for a file.
type Reach byte

// Reaches.
const (
	InProject    Reach = iota // in none
	InRepository              // in those of the repository; if there is no repository, in all
	InAll
)

// Shared is a file with variables that a client gives to all of its servers.
type Shared struct {
	Place Place    // of the format JSON or JSONC, or of none: lines as in .env
	Path  []string // of the table of variables
}

// A Blind is a file from which a client takes servers, and which mcp-jail does not read.
type Blind struct {
	Place Place
	Word  string // the file counts if it has this word; "" for always
	Why   string // it completes "it is not read: …"
}

// LocateAll returns where the place is: in the project, and in the directories above it if it counts
// there. It returns nil as Locate reports false.
func (p Place) LocateAll(h Host) (all []Location) {
	if at, ok := p.Locate(h); ok {
		all = append(all, at)
	}
	above := h.Above
	switch {
	case p.Scope != Project || p.Above == InProject:
		return all
	case p.Above == InRepository && h.Repo >= 0:
		above = above[:h.Repo]
	}
	for _, dir := range above {
		h.Project = dir
		if at, ok := p.Locate(h); ok {
			all = append(all, at)
		}
	}
	return all
}

// Locate returns where the place is. It reports false if there is no such place on this host, or
// if the place belongs to a project and h has none.
func (p Place) Locate(h Host) (Location, bool) {
	written := p.Linux
	switch h.OS {
	case "darwin":
		written = p.MacOS
	case "windows":
		written = p.Windows
	}
	// The first variable that is set moves the file.
	for _, m := range p.Moves {
		if written != "" && h.variable(m.Env) != "" {
			written = m.To
			break
		}
	}
	if written == "" {
		return Location{}, false
	}
	base, rest, ok := h.root(strings.ReplaceAll(written, `\`, "/"))
	if !ok {
		return Location{}, false
	}
	if dir, _, found := strings.Cut(rest, Any); found {
		// The part of a name before * belongs to the pattern, and not to the directory.
		dir = path.Dir(dir + "x")
		return Location{Dir: h.join(base, dir), Pattern: strings.TrimPrefix(rest, dir+"/")}, true
	}
	return Location{File: h.join(base, rest)}, true
}

func (h Host) root(written string) (base, rest string, ok bool) {
	first, rest, _ := strings.Cut(written, "/")
	switch {
	case first == "~":
		base = h.Home
	case strings.HasPrefix(first, "$"):
		base = h.variable(first[1:])
	case strings.HasPrefix(first, "%"):
		base = h.variable(strings.Trim(first, "%"))
	case first == "":
		base = "/"
	case len(first) == 2 && first[1] == ':' && !h.Mounted:
		base = first + `\`
	default:
		base, rest = h.Project, written
	}
	return base, rest, base != ""
}

// variable returns the absolute path that a variable of the environment has, or the
// directory that the system uses instead of an unset one. A relative value counts as unset,
// as the XDG specification says.
func (h Host) variable(name string) string {
	if h.Env != nil {
		if value := h.Env(name); h.isAbsolute(value) {
			return value
		}
	}
	if h.Home == "" {
		return ""
	}
	switch name {
	case "XDG_CONFIG_HOME":
		return h.join(h.Home, ".config")
	case "XDG_DATA_HOME":
		return h.join(h.Home, ".local/share")
	case "APPDATA":
		return h.join(h.Home, "AppData/Roaming")
	case "LOCALAPPDATA":
		return h.join(h.Home, "AppData/Local")
	}
	if h.Mounted { // which directories these are, only Windows says
		return ""
	}
	return map[string]string{"ProgramData": `C:\ProgramData`, "ProgramFiles": `C:\Program Files`}[name]
}

func (h Host) isAbsolute(file string) bool {
	if h.OS == "windows" && !h.Mounted {
		return len(file) > 2 && file[1] == ':' && (file[2] == '\\' || file[2] == '/') || strings.HasPrefix(file, `\\`)
	}
	return strings.HasPrefix(file, "/")
}

func (h Host) join(dir, rest string) string {
	separator := "/"
	if h.OS == "windows" && !h.Mounted {
		separator, rest = `\`, strings.ReplaceAll(rest, "/", `\`)
	}
	switch {
	case rest == "" || rest == ".":
		return dir
	case strings.HasSuffix(dir, separator):
		return dir + rest
	}
	return dir + separator + rest
}
