package clients

import (
	"strings"
	"time"
)

// Client is an MCP client.
//
// Its names in Hello come from messages of clients and from public lists of them. mcp-jail uses
// them for messages and for its patience, and grants nothing because of them.
type Client struct {
	Name     string            // as a person types it: lower case, with dashes
	Title    string            // as its makers write it
	Aliases  []string          // other names that ByName accepts
	Hello    []string          // what it sends as clientInfo.name; a "*" at the end stands for any rest
	Basis    string            // where the facts come from
	Places   []Place           // its files
	Blind    []Blind           // its files that mcp-jail does not read
	Brings   []Brings          // its plugins, which have files of their own
	Lookup   Lookup            // how it puts its files together
	Shared   []Shared          // files whose variables it gives to all of its servers
	Shapes   []Shape           // the ways to write an entry, the usual one first
	Forms    []Form            // the variables that it replaces in an entry
	Known    map[string]string // the values of variables that are the same in each entry of a file
	Start    Patience          // how long it waits for a server
	Dir      Dir               // where its servers start
	Hands    string            // which environment a server gets, beside what its entry says
	OnlyCmd  bool              // it replaces Forms in the program's name, and not in the arguments
	AsText   bool              // it replaces Forms in the text of a file, before it looks for keys and values
	ByType   bool              // the type of an entry decides whether it has a program, and not its other keys
	Tilde    bool              // it replaces a "~" at the start of a command or an argument
	PathKept bool              // a server gets the PATH of a terminal; false for clients started from a desktop
	Rewrites bool              // it writes its file by itself, even if the user changes no setting
	Reload   string            // what a person does to make a changed file count
	Quirks   []string          // its other surprising properties, a sentence or two each
}

// Lookup says how a client puts its files together.
type Lookup struct {
	Read  string  // which version was looked at, and how
	Names Merging // what it does with entries of one name in several files
	Order string  // its files, those that count more first
}

// Merging is what a client does with entries of one name in several files.
type Merging string

// What clients do.
const (
	MergingUnknown Merging = ""
	OneCounts      Merging = "one of the entries counts, and nothing of the others"
	Mixed          Merging = "the entries are mixed: a key that only one of them has counts too"
	AllStart       Merging = "each of the entries starts a server"
	OneFile        Merging = "it has one file only"
)

// Patience is how long a client waits for the first answer of a server.
type Patience struct {
	Time    time.Duration // 0: not known
	Setting string        // what changes it
}

// Dir is the working directory that a client gives to its servers.
type Dir string

// Working directories.
const (
	DirUnknown Dir = "unknown"   // the package does not know
	DirProject Dir = "project"   // the directory of the project that is open
	DirNone    Dir = "none"      // one that says nothing, such as / or the home directory
	DirOpen    Dir = "workspace" // that of the project if one is open, else the home directory
)

// Workspace returns the variable that the client replaces with the directory of the project,
// or "".
func (c Client) Workspace() string {
	for _, f := range c.Forms {
		if f.Kind == Workspace && !f.Named {
			return f.Open
		}
	}
	return ""
}

// Greets reports whether a client that calls itself so in clientInfo is c.
func (c Client) Greets(name string) bool {
	name = plain(name)
	for _, known := range c.Hello {
		start, open := strings.CutSuffix(plain(known), "*")
		if name == start || open && strings.HasPrefix(name, start) {
			return true
		}
	}
	return false
}

func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '_' {
			return '-'
		}
		return r
	}, strings.ToLower(strings.TrimSpace(name)))
}
