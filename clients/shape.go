package clients

import (
	"strings"
)

// Shape is a way to write an entry: the keys that a client uses. An empty key means that the
// client has no such thing.
type Shape struct {
	Within  string // the table inside the entry that has Command, Args, Env, Cwd and URL
	Wins    bool   // if an entry has the table Within, the client ignores its other keys
	Command string
	Args    string // "" if the list at Command begins with the program
	Env     string // a table of names and values
	Names   string // a list of names whose values come from elsewhere
	EnvFile string
	Cwd     string
	URL     []string // an entry with one of these and no command is remote

	// The rest is in the entry itself.
	Off       string // true: the client does not start the server
	On        string // false: the client does not start the server
	Sandbox   string // true: the client confines the server itself
	Debug     string // a table; with a key "debug" in it, the client starts another line
	Checksum  string // the client compares the program with this
	Elsewhere string // names an environment, other than "local", in which the server is started

	Helpers []string // the client runs the command or the code at these keys itself, beside a server
}

func standard() Shape {
	return Shape{Command: "command", Args: "args", Env: "env", URL: []string{"url"}}
}

func standardOff() Shape {
	s := standard()
	s.Off = "disabled"
	return s
}

// listed is the shape in which the command is a list, as in OpenCode.
func listed() Shape {
	return Shape{Command: "command", Env: "environment", URL: []string{"url"}, On: "enabled"}
}

func tables(names ...string) []Table {
	var out []Table
	for _, name := range names {
		out = append(out, Table{Path: []string{name}})
	}
	return out
}

func everywhere(scope scope, file string, format Format, found []Table) Place {
	return Place{Scope: scope, Linux: file, MacOS: file, Windows: file, Format: format, Tables: found}
}

func windowsSlashes(file string) string { return strings.ReplaceAll(file, "/", `\`) }

// in returns the shape with the key of a directory.
func (s Shape) in(cwd string) Shape {
	s.Cwd = cwd
	return s
}

func (p Place) bare() Place {
	p.Bare = true
	return p
}

// moved returns the place with a variable for the directory of the file, which has a path there.
func (p Place) moved(variable, file string) Place {
	p.Moves = append(p.Moves, move{variable, "$" + variable + "/" + file})
	return p
}

func withLine(line []string, places ...Place) []Place {
	for i := range places {
		places[i].Line = line
	}
	return places
}

// above returns a place that also counts in the directories above the project.
func above(p Place, reach reach) Place {
	p.Above = reach
	return p
}

func unread(scope scope, file, word, why string) Blind {
	b := Blind{Place: everywhere(scope, file, "", nil), Word: word, Why: why}
	return b
}

func movedBy(variable, to string, b Blind) Blind {
	b.Place = b.Place.moved(variable, to)
	return b
}

// These texts say why mcp-jail does not read a file that may have servers.
const (
	whyPlugin = "a plugin brings servers of its own"
	whyFolder = "it is in no folder of a plugin that mcp-jail knows"
	whyCode   = "not jailed: this extension has code that starts servers. Where it has a setting for the command, write mcp-jail run -- before it. Otherwise switch the extension off, and add its server to mcp.json"
	whyAgent  = "an agent can have servers of its own"

	whyAgentFile = "its own servers are read, and those of the file at an agent's `config_file` are not"
	whyRemote    = "it comes from an administrator"
	whySetting   = "it has servers among other settings"
)

// dotEnv returns the files .env in a directory of the client and beside it, in the project, above
// it, and in the home directory.
func dotEnv(dir string) (all []Shared) {
	for _, file := range []string{dir + "/.env", ".env"} {
		all = append(all, Shared{Place: above(everywhere(Project, file, "", nil), inAll)}, Shared{Place: everywhere(User, "~/"+file, "", nil)})
	}
	return all
}

func settingsEnv(places ...Place) (all []Shared) {
	for _, p := range places {
		all = append(all, Shared{Place: p, Path: []string{"env"}})
	}
	return all
}
