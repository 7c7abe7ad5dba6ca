// Package clients describes MCP clients: where each one keeps its configuration, how it
// writes the entry of a server, and how such an entry is put into the jail and taken out
// again.
//
// A [Client] is data. [All] lists the clients. [ByName] finds one by the name that a person
// types, and [ByFile] by the path of a
// file. A [Place] is a file of a client; [Place.Locate] tells where that file is on a given
// [Host]. A [Table] is the part of the file that lists the servers.
//
// The package reads and writes no file, and parses none. A caller parses the file, and hands
// each entry over as an [Item]; [Client.Entry] says what the entry means. [Entry.Left] says
// why an entry must stay as it is. Otherwise [Entry.Wrap] returns the [Edit] that puts
// mcp-jail before the server's command line, and [Entry.Unwrap] the one that removes it.
// An Edit is data as well, for a program that changes bytes in place.
//
//	before  npx -y @modelcontextprotocol/server-memory
//	after   /usr/bin/mcp-jail run --id memory-4k7q2m9x3vt5 -- npx -y @modelcontextprotocol/server-memory
//
// The wrapped entry contains the whole original. So Unwrap needs no memory: it recognises an
// entry by the program's base name and by the form of the command line, under any path.
//
// Limits. The facts come from three kinds of sources, and docs/clients.md names those of each
// client: trials, its source, its documentation. Clients change; a client that moved its file is not
// found. Entries that are no text in a file are out of reach: those of extensions, of JetBrains'
// settings, and the shell scripts of Crush.
// Settings beside an entry, with which some clients switch servers off, are not read.
//
// # Plugins
//
// The plugins and extensions of clients bring servers as well.
//
// [FindPlugins] returns the plugins of a client. A [Plugin] has the files in which its servers are, each
// with the [clients.Place] that says where in the file: an entry there is wrapped like one of the
// user's own. Servers that are in no such file are in Plugin.Named, with the reason.
//
// Which folders count, and which plugins are switched off, is in lists of the client's. The package
// reads only lists at places of the user's: no list that a project brings leads to a folder. A path
// in a folder counts only if it stays there.
//
// The package opens no file itself. The caller gives it a [PluginLook].
//
// Limits:
//
// A plugin that a client is told about on its command line is not found. A plugin that the settings of
// a project switch off counts as switched on.
package clients

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Item is an entry as a parser found it in a file.
type Item struct {
	Table Table
	Path  []string // from the root of the file to the entry; the elements of lists are numbers from 0
	Line  int      // where its key is, from 1
	Value any      // nil, bool, a number, string, []any or map[string]any
	Name  string   // what the client calls the server, if no key says it
}

// Entry is a server as a client's file declares it.
type Entry struct {
	Client string // the client's Name
	Server string // what the client calls the server
	For    string // the directory of the project that the entry is for, if one file has entries for several
	Path   []string
	Line   int

	Command   string
	Args      []string
	Env       []Variable // sorted by name
	Names     []string   // variables whose values the client has from elsewhere
	EnvFile   string
	Cwd       string
	URL       string
	Headers   []string // the values of those that the client sends to URL
	Disabled  bool
	Sandboxed bool
	Elsewhere string // another machine or a container on which the client starts it; "" for this host

	Left   Reason // why wrap leaves the entry; "" if it can be wrapped
	Detail string // more about that, for a message

	Shape Shape // how the entry is written
}

// Variable is a variable that an entry sets. Unset means that the client removes it from the
// environment.
type Variable struct {
	Name, Value string
	Unset       bool
}

// Environ returns an environment in which a client has set variables.
func Environ(environ []string, set []Variable) []string {
	environ = slices.Clone(environ)
	for _, v := range set {
		environ = slices.DeleteFunc(environ, func(e string) bool { return strings.HasPrefix(e, v.Name+"=") })
		if !v.Unset {
			environ = append(environ, v.Name+"="+v.Value)
		}
	}
	return environ
}

// Reason is why an entry must stay as it is. It completes the sentence "left: it …".
type Reason string

// Reasons.
const (
	Remote    Reason = "is reached by a URL: no program runs here"
	NoCommand Reason = "has no command"
	malformed Reason = "is not understood"
	Disabled  Reason = "is switched off"
	sandboxed Reason = "is confined by the client already, and one sandbox cannot be set up inside the other everywhere"
	checked   Reason = "has a checksum of its program, which mcp-jail would not match"
	debugged  Reason = "is started with a debugger by its client, which changes its command line"
	elsewhere Reason = "is started on another machine or in a container"
	replaced  Reason = "has a program whose name the client makes of a variable, which it would not do behind mcp-jail"
	Jailed    Reason = "already starts in the jail"
	Ambiguous Reason = "can be read in two ways"
	AsLine    Reason = "is a line of text, in which mcp-jail changes nothing"
	Beside    Reason = "has a command that its client runs itself, outside the jail"
)

// Argv returns the command line: the program and its arguments, as the file has them.
func (e Entry) Argv() []string {
	if e.Command == "" {
		return nil
	}
	return append([]string{e.Command}, e.Args...)
}

// EnvNames returns the names of the variables that the entry gives to its server, each once:
// those with a value, and then those of Names. A jail must pass these on.
func (e Entry) EnvNames() (names []string) {
	for _, v := range e.Env {
		if !v.Unset {
			names = append(names, v.Name)
		}
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(append(names, e.Names...), func(name string) bool {
		twice := seen[name]
		seen[name] = true
		return twice
	})
}

// Entry returns the meaning of an entry of c's file. It never fails: Left says why an entry cannot
// be used.
func (c Client) Entry(item Item) Entry {
	e := Entry{Client: c.Name, Path: item.Path, Line: item.Line}
	for i, key := range item.Table.Path {
		if key == Any && i < len(item.Path) {
			e.For = item.Path[i]
		}
	}
	if len(item.Path) > 0 {
		e.Server = item.Path[len(item.Path)-1]
	}
	table, ok := item.Value.(map[string]any)
	if !ok {
		e.leave(NoCommand, "it is no table")
		return e
	}
	if item.Table.List {
		e.Server, _ = table["name"].(string)
	}
	e.Server = cmp.Or(item.Name, e.Server)
	// The shape decides under which keys all the rest is looked for.
	e.Shape = c.shapeOf(table)
	inner := table
	if e.Shape.Within != "" {
		inner, _ = table[e.Shape.Within].(map[string]any)
	}
	e.readEnv(inner)
	e.EnvFile, e.Cwd = text(inner, e.Shape.EnvFile), text(inner, e.Shape.Cwd)
	headers, _ := inner["headers"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		e.Headers = append(e.Headers, text(headers, name))
	}
	e.Disabled = table[e.Shape.Off] == true || e.Shape.On != "" && table[e.Shape.On] == false
	e.Sandboxed = table[e.Shape.Sandbox] == true
	e.readCommand(table, inner)
	if at := c.commandsOf(table); len(at) > 1 && !e.Shape.Wins {
		e.leave(Ambiguous, "it has a command line at "+strings.Join(at, " and at "))
	}
	if kind := cmp.Or(text(inner, "type"), text(table, "type")); c.ByType && e.Command != "" && !isLocal(kind) {
		e.leave(Ambiguous, "it has a command, and its type is "+kind)
	}
	// A helper is a command that the client itself runs, outside of the jail.
	for _, key := range e.Shape.Helpers {
		if table[key] != nil && !e.Disabled {
			e.leave(Beside, "take out "+key)
		}
	}
	e.judge(c, table)
	return e
}

func (c Client) commandsOf(table map[string]any) (at []string) {
	for _, s := range c.Shapes {
		inner, key := table, s.Command
		if s.Within != "" {
			inner, _ = table[s.Within].(map[string]any)
			key = s.Within + "." + key
		}
		switch inner[s.Command].(type) {
		case string, []any:
			if !slices.Contains(at, key) {
				at = append(at, key)
			}
		}
	}
	return at
}

// shapeOf returns the shape that wins, or else the first whose command an entry has, or else one
// whose inner table it has, or else the first shape.
func (c Client) shapeOf(table map[string]any) Shape {
	fallback := -1
	for i, s := range c.Shapes {
		if s.Wins && table[s.Within] != nil {
			return s
		}
		inner, ok := table, true
		if s.Within != "" {
			inner, ok = table[s.Within].(map[string]any)
		}
		_, isText := inner[s.Command].(string)
		_, isList := inner[s.Command].([]any)
		// A text with a list of arguments is one shape, a list alone is the other.
		switch {
		case isText && s.Args != "", isList && s.Args == "":
			return s
		case ok && (fallback < 0 || s.Within != ""):
			fallback = i
		}
	}
	return c.Shapes[max(fallback, 0)]
}

func (e *Entry) readCommand(table, inner map[string]any) {
	kind := cmp.Or(text(table, "type"), text(inner, "type"))
	for _, key := range e.Shape.URL {
		if e.URL == "" {
			e.URL = text(inner, key)
		}
	}
	value := inner[e.Shape.Command]
	switch {
	case value == nil && (isRemote(kind) || e.URL != ""):
		e.leave(Remote, "")
		return
	case value == nil && !isLocal(kind):
		e.leave(NoCommand, "its type is "+kind)
		return
	case value == nil:
		e.leave(NoCommand, "")
		return
	case e.Shape.Args == "":
		words, ok := texts(value)
		if !ok || len(words) == 0 || words[0] == "" {
			e.leave(malformed, e.Shape.Command+" is no list that begins with a program")
			return
		}
		e.Command, e.Args = words[0], words[1:]
		return
	}
	command, ok := value.(string)
	if !ok || command == "" {
		e.leave(malformed, e.Shape.Command+" is no text, or an empty one")
		return
	}
	args, present := inner[e.Shape.Args]
	words, ok := texts(args)
	if present && !ok {
		e.leave(malformed, e.Shape.Args+" is no list of texts")
		return
	}
	e.Command, e.Args = command, words
}

func isLocal(kind string) bool { return slices.Contains([]string{"", "stdio", "local"}, kind) }

func isRemote(kind string) bool {
	kind = strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(kind))
	return slices.Contains([]string{"http", "sse", "streamablehttp", "remote", "ws", "websocket"}, kind)
}

func (e *Entry) judge(c Client, table map[string]any) {
	if e.Left != "" {
		return
	}
	if e.Elsewhere = text(table, e.Shape.Elsewhere); e.Elsewhere == "local" {
		e.Elsewhere = ""
	}
	// The first reason counts. An entry that is jailed already needs no other one.
	_, jailed := ParseWrapped(e.Argv())
	switch {
	case jailed:
		e.leave(Jailed, "")
	case e.Disabled:
		e.leave(Disabled, "")
	case e.Sandboxed:
		e.leave(sandboxed, "remove "+e.Shape.Sandbox+" to use mcp-jail instead")
	case debugs(table[e.Shape.Debug]):
		e.leave(debugged, "take out "+e.Shape.Debug+".debug")
	case e.Shape.Checksum != "" && table[e.Shape.Checksum] != nil:
		e.leave(checked, "remove "+e.Shape.Checksum+" to use mcp-jail")
	case e.Elsewhere != "":
		e.leave(elsewhere, e.Shape.Elsewhere+" is "+e.Elsewhere)
	case c.OnlyCmd && len(c.References(e.Command)) > 0:
		e.leave(replaced, "write the path of the program")
	case e.Server == "":
		e.leave(malformed, "it has no name")
	}
}

func debugs(value any) bool {
	table, _ := value.(map[string]any)
	return table["debug"] != nil
}

func (e *Entry) leave(why Reason, detail string) { e.Left, e.Detail = why, detail }

func (e *Entry) readEnv(inner map[string]any) {
	env, _ := inner[e.Shape.Env].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		switch value := env[name].(type) {
		case nil:
			e.Env = append(e.Env, Variable{Name: name, Unset: true})
		case string:
			e.Env = append(e.Env, Variable{Name: name, Value: value})
		default:
			e.Env = append(e.Env, Variable{Name: name, Value: fmt.Sprint(value)})
		}
	}
	names, _ := inner[e.Shape.Names].([]any)
	for _, item := range names {
		switch value := item.(type) {
		case string:
			e.Names = append(e.Names, value)
		case map[string]any: // newer Codex: {name = "X", source = "…"}
			if name := text(value, "name"); name != "" {
				e.Names = append(e.Names, name)
			}
		}
	}
}

func text(table map[string]any, key string) string {
	s, _ := table[key].(string)
	return s
}

func texts(value any) ([]string, bool) {
	list, ok := value.([]any)
	var out []string
	for _, item := range list {
		s, isText := item.(string)
		if !isText {
			return nil, false
		}
		out = append(out, s)
	}
	return out, ok
}

// Changes reports whether an entry of c can start otherwise if c mixes another one of the same name
// into it. An entry that only switches it off, or says how its tools are used, does not.
func (c Client) Changes(entry, other any) bool {
	table, ok := other.(map[string]any)
	mine, _ := entry.(map[string]any)
	if !ok {
		return true
	}
	for key, value := range table {
		// Switching off starts nothing, and quiet keys do not change what starts.
		switched := slices.ContainsFunc(c.Shapes, func(s Shape) bool { return key == s.Off && value == true || key == s.On && value == false })
		if !switched && !quietKeys[key] && !(c.isSwitch(key) && !c.isOff(mine)) {
			return true
		}
	}
	return false
}

func (c Client) isSwitch(key string) bool {
	return slices.ContainsFunc(c.Shapes, func(s Shape) bool { return key != "" && (key == s.Off || key == s.On) })
}

func (c Client) isOff(table map[string]any) bool {
	return slices.ContainsFunc(c.Shapes, func(s Shape) bool {
		return s.Off != "" && table[s.Off] == true || s.On != "" && table[s.On] == false
	})
}

// quietKeys are keys of entries that do not change what starts.
var quietKeys = map[string]bool{
	"timeout": true, "startup_timeout_sec": true, "startup_timeout_ms": true, "tool_timeout_sec": true, "startup_timeout_secs": true,
	"enabled_tools": true, "disabled_tools": true, "default_tools_approval_mode": true, "required": true, "optional": true,
}

// Client is an MCP client.
type Client struct {
	Name    string            // as a person types it: lower case, with dashes
	Title   string            // as its makers write it
	Aliases []string          // other names that ByName accepts
	Places  []Place           // its files
	Blind   []Blind           // its files that mcp-jail does not read
	Brings  []brings          // its plugins, which have files of their own
	Mixed   bool              // it mixes entries of one name: a key that only one of several files has counts too
	Shared  []Shared          // files whose variables it gives to all of its servers
	Shapes  []Shape           // the ways to write an entry, the usual one first
	Forms   []form            // the variables that it replaces in an entry
	Known   map[string]string // the values of variables that are the same in each entry of a file
	Dir     dir               // where its servers start
	OnlyCmd bool              // it replaces Forms in the program's name, and not in the arguments
	AsText  bool              // it replaces Forms in the text of a file, before it looks for keys and values
	ByType  bool              // the type of an entry decides whether it has a program, and not its other keys
	Tilde   bool              // it replaces a "~" at the start of a command or an argument
	Reload  string            // what a person does to make a changed file count
}

// dir is the working directory that a client gives to its servers.
type dir string

// Working directories.
const (
	dirUnknown dir = "unknown"   // the package does not know
	DirProject dir = "project"   // the directory of the project that is open
	DirNone    dir = "none"      // one that says nothing, such as / or the home directory
	DirOpen    dir = "workspace" // that of the project if one is open, else the home directory
)

func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '_' {
			return '-'
		}
		return r
	}, strings.ToLower(strings.TrimSpace(name)))
}
