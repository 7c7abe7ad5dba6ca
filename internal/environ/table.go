package environ

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// A Reader is what reads a variable outside of a server's jail. table.txt has all of them.
type Reader string

// Readers that decide what an entry may set.
const (
	Loader  Reader = "the loader, a shell or an interpreter"
	Secret  Reader = "a secret's command"
	Presets Reader = "presets"
	servers Reader = "servers with granted hosts"
)

// Setter says whose entries may set a variable.
type Setter string

// Setters. Each includes those before it.
const (
	Nobody  Setter = "nobody"
	User    Setter = "user"
	Direct  Setter = "direct"
	Project Setter = "project"
)

var setters = []Setter{Nobody, User, Direct, Project}

// includes reports whether a setter is another one, or comes after it.
func (s Setter) includes(other Setter) bool {
	return slices.Index(setters, s) >= slices.Index(setters, other)
}

// A Row is a row of table.txt.
type Row struct {
	Names   []string
	Readers []Reader
	May     Setter
	For     string // what the readers use the variables for
}

//go:embed table.txt
var table string

// Rows returns the table. A test reads all of it, so no row lacks a part.
var Rows = sync.OnceValue(func() (rows []Row) {
	for line := range strings.Lines(table) {
		switch {
		case strings.HasPrefix(line, "#"), line == "\n":
		case strings.HasPrefix(line, " "):
			last := &rows[len(rows)-1]
			last.Names = append(last.Names, strings.Fields(line)...)
		default:
			parts := strings.Split(strings.TrimSpace(line), " | ")
			r := Row{May: Setter(parts[0]), For: parts[2]}
			for reader := range strings.SplitSeq(parts[1], "; ") {
				r.Readers = append(r.Readers, Reader(reader))
			}
			rows = append(rows, r)
		}
	}
	return rows
})

// Find returns the row of a variable. ok is false if the table does not have it.
func Find(name string) (row Row, ok bool) {
	name = fold(name)
	best := -1
	for _, r := range Rows() {
		for _, pattern := range r.Names {
			if literal := len(pattern) - strings.Count(pattern, "*"); literal > best && matches(pattern, name) {
				best, row = literal, r
			}
		}
	}
	return row, best >= 0
}

func fold(name string) string { return strings.ReplaceAll(strings.ToUpper(name), "-", "_") }

// matches reports whether a folded name has a pattern. A "*" stands for any text.
func matches(pattern, name string) bool {
	begin, end, wild := strings.Cut(pattern, "*")
	if !wild {
		return name == pattern
	}
	return len(name) >= len(begin)+len(end) && strings.HasPrefix(name, begin) && strings.HasSuffix(name, end)
}

// IsName reports whether all programs read a text as one name, and as the same one. An environment
// is a list of texts NAME=VALUE, so in a name with a "=" other programs find another name. Readers
// of files strip blanks that others keep, and systems differ in which letters are the same.
//
// In an entry of a project's file, a name has letters, digits and "_", as POSIX says, or is one of
// Windows. An entry of the user's own may have npm's names too, such as npm_config_@scope:registry.
func IsName(name string, project bool) bool {
	if slices.Contains(ofWindows, name) {
		return true
	}
	for i, c := range []byte(name) {
		switch {
		case c == '_', 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z', '0' <= c && c <= '9' && i > 0:
		case project || c <= ' ' || c == '=' || c > '~':
			return false
		}
	}
	return name != ""
}

// ofWindows are the names of Windows that have other characters. Nothing reads them outside.
var ofWindows = []string{"ProgramFiles(x86)", "CommonProgramFiles(x86)"}

// MaySet reports whether an entry may set a variable: of the user's own file (User), of a project's
// (Project), or of a project's whose line starts no package and no preset's program (Direct).
func MaySet(name string, entry Setter) bool {
	row, known := Find(name)
	return IsName(name, entry != User) && (!known || row.May.includes(entry))
}

// Steers reports whether a variable acts on a server of the user's configuration: on the command of a
// secret, on the rules of a preset, which send secrets to the hosts that variables name, on the
// authorities that the server trusts, or on the code that it loads. So an entry of a project's file that starts such a server may not set it.
func Steers(name string) bool {
	row, known := Find(name)
	return known && (row.Reads(Secret) || row.Reads(Presets) || row.Reads(servers) || row.Reads(Loader))
}

// Loads reports whether a variable can make a program load code, or start other code than it would
// without the variable.
func Loads(name string) bool {
	row, known := Find(name)
	return known && row.Reads(Loader)
}

// Reads reports whether a reader reads the variables of a row.
func (r Row) Reads(reader Reader) bool { return slices.Contains(r.Readers, reader) }

// Build returns the environment of a program: the variables of environ that its reader reads, and
// then set. If a name is there several times, the last one counts. A name of set counts before
// those of environ.
func Build(reader Reader, environ []string, set ...string) (built []string) {
	at := map[string]int{}
	add := func(pair string) {
		name, _, _ := strings.Cut(pair, "=")
		if i, there := at[name]; there {
			built[i] = pair
			return
		}
		at[name], built = len(built), append(built, pair)
	}
	for _, pair := range environ {
		name, _, ok := strings.Cut(pair, "=")
		if row, known := Find(name); ok && known && row.Reads(reader) {
			add(pair)
		}
	}
	for _, pair := range set {
		add(pair)
	}
	return built
}
