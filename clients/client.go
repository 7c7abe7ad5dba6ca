package clients

import "strings"

// Client is an MCP client.
//
// Its names in Hello come from messages of clients and from public lists of them. mcp-jail uses
// them for messages and for its patience, and grants nothing because of them.
type Client struct {
	Name    string            // as a person types it: lower case, with dashes
	Title   string            // as its makers write it
	Aliases []string          // other names that ByName accepts
	Hello   []string          // what it sends as clientInfo.name; a "*" at the end stands for any rest
	Places  []Place           // its files
	Blind   []Blind           // its files that mcp-jail does not read
	Brings  []Brings          // its plugins, which have files of their own
	Mixed   bool              // it mixes entries of one name: a key that only one of several files has counts too
	Shared  []Shared          // files whose variables it gives to all of its servers
	Shapes  []Shape           // the ways to write an entry, the usual one first
	Forms   []Form            // the variables that it replaces in an entry
	Known   map[string]string // the values of variables that are the same in each entry of a file
	Dir     Dir               // where its servers start
	OnlyCmd bool              // it replaces Forms in the program's name, and not in the arguments
	AsText  bool              // it replaces Forms in the text of a file, before it looks for keys and values
	ByType  bool              // the type of an entry decides whether it has a program, and not its other keys
	Tilde   bool              // it replaces a "~" at the start of a command or an argument
	Reload  string            // what a person does to make a changed file count
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

func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '_' {
			return '-'
		}
		return r
	}, strings.ToLower(strings.TrimSpace(name)))
}
