package clients

import (
	"path"
	"slices"
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
	Scope   scope
	Linux   string
	MacOS   string
	Windows string
	Moves   []move // the first whose variable is set decides
	Format  Format
	Tables  []Table
	Bare    bool     // a file that has none of the tables is itself one
	Single  bool     // a file that has none of the tables is an entry, named after the file
	Line    []string // the keys of a text that is the command line of one more server
	Above   reach    // how far up a place of a project also counts
}

// move is an environment variable that moves a file on every system.
type move struct {
	Env string
	To  string // a path like those of Place
}

// scope says for whom a file counts.
type scope string

// Scopes.
const (
	User    scope = "user"    // for this user, everywhere
	Project scope = "project" // for all who work on a project; the file is below its directory
	System  scope = "system"  // for all users of the machine
	Managed scope = "managed" // imposed by an administrator; never changed
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
	Named   []Named             // files that the user named, where no client looks
	Mounted bool                // a disk of Windows that Linux shows: the places are those of Windows, and paths have slashes
}

// Named is a file that the user named, and the client that he named with it, or "".
type Named struct {
	File   string `json:"file"`
	Client string `json:"client,omitempty"`
}

// Location is where a place is on a host: one file, or those below a directory whose path
// matches a pattern. The pattern has slashes on every system, as io/fs has.
type Location struct {
	File string

	Dir     string
	Pattern string
}

// reach says in which directories above a project a client looks for a file.
type reach byte

// Reaches.
const (
	inProject    reach = iota // in none
	inRepository              // in those of the repository; if there is no repository, in all
	inAll
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
	case p.Scope != Project || p.Above == inProject:
		return all
	case p.Above == inRepository && h.Repo >= 0:
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

// ByFile returns the client and the place to which the absolute path of a file belongs. It prefers
// a place that is this file on this host. Otherwise it takes a place of a project whose path below
// the project ends the path of the file. Of several clients, it returns the first in All.
func ByFile(file string, h Host) (client Client, place Place, found bool) {
	EachReader(file, h, func(c Client, p Place) {
		if !found {
			client, place, found = c, p, true
		}
	})
	if found {
		return client, place, true
	}
	for _, c := range all() {
		for _, p := range c.Places {
			// The file may be that of another project.
			if p.Scope == Project && h.endsAs(p, file) {
				return c, p, true
			}
		}
	}
	return Client{}, Place{}, false
}

// EachReader calls a function for each client that looks for servers in a file on this host, in the
// order of All, and for each of its places that is this file.
func EachReader(file string, h Host, each func(Client, Place)) {
	for _, c := range all() {
		for _, p := range c.Places {
			if slices.ContainsFunc(p.LocateAll(h), func(at Location) bool { return h.matches(at, file) }) {
				each(c, p)
			}
		}
	}
}

func (h Host) matches(at Location, file string) bool {
	if at.Pattern == "" {
		return h.slashes(file) == h.slashes(at.File)
	}
	rest, ok := strings.CutPrefix(h.slashes(file), h.slashes(at.Dir)+"/")
	if !ok {
		return false
	}
	return matches(h.slashes(at.Pattern), rest)
}

func matches(pattern, name string) bool {
	before, after, deep := strings.Cut(pattern, "**/")
	// ** is for any folders: of what is below, only the last name is compared.
	if deep {
		rest, ok := strings.CutPrefix(name, before)
		if !ok || strings.Contains(before, Any) {
			return false
		}
		pattern, name = after, path.Base(rest)
	}
	matched, err := path.Match(pattern, name)
	return err == nil && matched
}

func (h Host) endsAs(p Place, file string) bool {
	elements := strings.Split(h.slashes(file), "/")
	n := strings.Count(p.Linux, "/") + 1
	if dir, _, deep := strings.Cut(p.Linux, "/**/"); deep {
		at := strings.LastIndex("/"+strings.Join(elements, "/"), "/"+dir+"/")
		return at >= 0 && matches(h.slashes(p.Linux), ("/" + strings.Join(elements, "/"))[at+1:])
	}
	return len(elements) > n && matches(h.slashes(p.Linux), strings.Join(elements[len(elements)-n:], "/"))
}

// slashes makes paths of one host comparable. Windows does not tell upper from lower case.
func (h Host) slashes(file string) string {
	if h.OS == "windows" {
		file = strings.ToLower(strings.ReplaceAll(file, `\`, "/"))
	}
	return file
}

// WSLWords returns the words by which a client on Windows starts a program of a Linux in WSL, in the
// user's home directory there. Without --cd it would start where the client does, which may be a
// directory that Windows starts programs from.
func WSLWords(distribution string) []string {
	return []string{"wsl.exe", "-d", distribution, "--cd", "~", "--exec"}
}

// WSL returns what the words before mcp-jail say if they are those of wsl.exe: the distribution, "" for
// the default one, and whether mcp-jail starts there as its user, in the home directory or where the client
// does.
func (w Wrapped) WSL() (distribution string, plain, is bool) {
	if len(w.Launcher) == 0 || !isWSL(w.Launcher[0]) {
		return "", false, false
	}
	plain = true
	for i := 1; i+1 < len(w.Launcher); i += 2 {
		value := w.Launcher[i+1]
		switch w.Launcher[i] {
		case "-d", "--distribution":
			distribution = value
		case "--cd":
			plain = plain && value == "~"
		default:
			plain = false
		}
	}
	return distribution, plain, true
}

func isWSL(program string) bool {
	name := strings.ToLower(baseName(program))
	return name == "wsl" || name == "wsl.exe"
}

// wslWords returns how many words come before the mcp-jail that wsl.exe starts, or 0.
func wslWords(argv []string) int {
	if len(argv) < 3 || !isWSL(argv[0]) {
		return 0
	}
	i := 1
	for ; i < len(argv); i += 2 {
		if !slices.Contains([]string{"-d", "--distribution", "-u", "--user", "--cd", "--shell-type"}, argv[i]) {
			break
		}
	}
	if i < len(argv) && slices.Contains([]string{"-e", "--exec", "--"}, argv[i]) {
		i++
	}
	if i < len(argv) && isOurs(argv[i]) {
		return i
	}
	return 0
}
