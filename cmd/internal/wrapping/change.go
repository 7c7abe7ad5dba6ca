// Package wrapping puts the servers of MCP clients into the jail, and takes them out again:
// it joins what clients knows of each client, what clients/edit does to a file, and what
// presets knows of a server.
//
//	files, err := wrapping.Find(host, wrapping.Selection{})
//	for _, f := range files {
//		c := f.Wrap(program, selection, host, names)
//		... // show c.Servers and c.Diff(), and ask
//		backup, err := c.Write(dir, time.Now())
//	}
//
// A [File] is a file in which a client looks for servers. A [Change] is what becomes of it:
// [File.Wrap] and [File.Unwrap] return one and write nothing. [Change.Write] writes it: a copy
// of the file, then the file.
//
// # What an entry gets
//
// An entry of the user's own gets an id ([IDs]), and the file of the server with that id has its policy:
// [WriteFiles] makes it. A new one grants what the entry itself shows:
//
//   - the preset of the package or program, if there is one
//   - the variables that the entry sets, names or takes from a file, and that the preset does
//     not know
//   - without a preset, the files and directories among its arguments, to read
//
// An entry of a project's file, which others may have written, gets no id, and the default policy.
//
// # Limits
//
// Find does not look for files of the system and of administrators. If an argument has variables
// that the client replaces, its path is granted only if they stand for the project or the home
// directory.
package wrapping

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/clients/edit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/meaning"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// ServerChange says what becomes of one server.
type ServerChange struct {
	Entry
	Grant
	Own     *config.ServerFile // of a server of the user's own: its file
	Writes  bool               // Own is not in force yet
	Accepts []policy.Axis      // what Own accepts from now on
	Newer   []string           // what its preset gives now, and Own has not
	Former  string             // the id of the entry before, or ""
	Repair  clients.Reason     // why wrap puts this program into an entry that is wrapped already; "" if it does not
	Left    string             // why the entry stays as it is; "" if it changes
	Open    bool               // it stays, and may start without a jail
	After   []string
}

// Try returns the arguments of mcp-jail that start the server as wrap would have it started, before wrap has
// written anything.
func (s ServerChange) Try() []string {
	line, wrapped := clients.ParseWrapped(s.Argv())
	if !wrapped {
		line.Argv = s.Argv()
	}
	return slices.Concat([]string{"run"}, s.Flags, []string{"--"}, line.Argv)
}

// Change says what becomes of one file.
type Change struct {
	File    *File
	Servers []ServerChange // that were selected, in the order of the file
	After   []byte         // the whole file

	made  []byte        // the file that it is made of
	edits []edit.Change // that make it
}

// Rewrites reports whether the file of the client changes: a server's own file may change alone.
func (c *Change) Rewrites() bool { return !bytes.Equal(c.made, c.After) }

// Changed returns the servers that change.
func (c *Change) Changed() (all []ServerChange) {
	for _, s := range c.Servers {
		if s.Left == "" {
			all = append(all, s)
		}
	}
	return all
}

// Diff returns the unified diff of the file, or "". It has no lines around the changes. It has
// "***" in place of the values of variables and of probable secrets in command lines.
func (c *Change) Diff() string {
	diff := c.File.parsed.Diff(show.Name(c.File.Path), c.edits...)
	values, arguments := map[string]bool{}, map[string]bool{}
	for _, s := range c.File.Entries {
		for _, v := range s.Env {
			values[v.Value] = len(v.Value) >= terminal.Shortest
		}
		for _, word := range terminal.SecretWords(s.Argv()) {
			arguments[word] = true
		}
	}
	for _, s := range c.Servers {
		for _, word := range terminal.SecretWords(s.After) {
			arguments[word] = true
		}
	}
	// A whole quoted word can be compared as it is meant, with its escapes undone.
	diff = quoted().ReplaceAllStringFunc(diff, func(text string) string {
		var value string
		if json.Unmarshal([]byte(text), &value) == nil && (values[value] || arguments[value]) {
			return `"` + terminal.Hidden + `"`
		}
		return text
	})
	// Arguments and values within longer texts, the longest first: one that is a part of another would leave the rest of
	// that. A value that looks like a part of the file itself stays: hiding it could hide a change.
	words := slices.DeleteFunc(slices.Collect(maps.Keys(arguments)), func(word string) bool {
		return len(word) < terminal.Shortest || strings.ContainsAny(word, "\"'[]{} ")
	})
	for value, hide := range values {
		if hide && !c.File.IsProject() && !strings.ContainsAny(value, "\"',=[]{}") {
			words = append(words, value)
		}
	}
	slices.SortFunc(words, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	for _, word := range words {
		diff = strings.ReplaceAll(diff, word, terminal.Hidden)
	}
	return diff
}

// quoted matches a text between double quotes, which JSON, TOML and YAML spell alike.
var quoted = show.Pattern(`"(?:[^"\\\n]|\\.)*"`)

// Wrap returns the change that puts the selected servers of a file into the jail.
func (f *File) Wrap(program Program, sel Selection, host clients.Host, ids *IDs) *Change {
	j := judge{f, program, host, sel.Unasked}
	c := f.change(sel, func(s Entry, p *ServerChange) (clients.Edit, clients.Reason) {
		if why := j.fixed(s); why != "" {
			return clients.Edit{}, why
		}
		if f.IsProject() {
			return j.ofOthers(s, p)
		}
		edit, why := j.own(s, p, ids)
		if why == "" && edit.Words == nil && !p.Writes {
			why = clients.Jailed
		}
		return edit, why
	})
	for i, s := range c.Servers {
		_, wrapped := clients.ParseWrapped(s.Argv())
		c.Servers[i].Open = s.Left != "" && !(wrapped && strings.HasPrefix(s.Left, string(clients.Jailed))) && !f.startsNothing(s.Entry)
	}
	return c
}

// fixed returns why wrap leaves an entry before it looks at what the server would get, or "".
func (j judge) fixed(s Entry) clients.Reason {
	_, wrapped := clients.ParseWrapped(s.Argv())
	switch {
	case s.mixed != "" && !wrapped:
		return s.mixed
	case s.Left != "" && !(wrapped && slices.Contains([]clients.Reason{clients.Jailed, clients.Ambiguous, clients.Beside}, s.Left)):
		return s.Left
	case s.words.Refused != nil:
		return clients.Reason("cannot be changed: " + s.words.Refused.Reason)
	}
	return ""
}

// ofOthers decides about an entry of a project's or a plugin's file. It gets the words in front alone: what
// the server may do is the user's to say, on this machine.
func (j judge) ofOthers(s Entry, p *ServerChange) (clients.Edit, clients.Reason) {
	if _, wrapped := clients.ParseWrapped(s.Argv()); wrapped {
		if v := j.file.Judge(s, j.program, j.host); v.IsUnclear() {
			return clients.Edit{}, v.Why
		}
		return clients.Edit{}, clients.Jailed
	}
	start := clients.Wrapping{Program: j.program.Path}
	if j.file.Plugin() == nil { // others use the file, too
		start.Program = bareName
		if v := j.start(s, clients.Wrapped{Program: bareName}); v.State != Jailed {
			return clients.Edit{}, "would be started by the name " + bareName + ", as for all who use the file, and then it " + v.Why
		}
	}
	if why := j.check(s, p); why != "" {
		return clients.Edit{}, why
	}
	return j.edit(s, start)
}

// bareName is how the file of a project names mcp-jail.
const bareName = "mcp-jail"

// check finds out what wrap has to say of an entry that is not wrapped, and what its server gets, or why wrap
// leaves it. Without p it looks at the entry alone.
func (j judge) check(s Entry, p *ServerChange) clients.Reason {
	f, host := j.file, j.file.within(j.host)
	if s.For != "" {
		host.Project = s.For
	}
	if OnWindows(f) {
		if why := meaning.LeftToWindows(s.by.client, s.Entry); why != "" {
			return why
		}
		s.Env = slices.DeleteFunc(slices.Clone(s.Env), func(v clients.Variable) bool { return v.Name == "WSLENV" }) // for wsl.exe
	}
	// Each client that starts the entry counts: one may read a file of variables that others ignore.
	for _, s := range s.asRead() {
		if why := j.variables(s, s.Argv(), false); why != "" {
			return why
		}
	}
	if p == nil {
		return ""
	}
	fromFile, note, _ := s.fileNames(s.by.client, host)
	if note != "" {
		fromFile = nil
	}
	if p.Grant = grantOf(s.by.client, s, host, fromFile, note, j.unasked); p.refused != "" {
		return p.refused
	}
	if why := f.runsCommand(s); why != "" {
		p.Notes = append(p.Notes, "it "+string(why))
	}
	return ""
}

// NotWrapped is the reason why unwrap leaves an entry.
const NotWrapped clients.Reason = "is not wrapped"

// Unwrap returns the change that takes the selected servers of a file out of the jail. An entry that starts a server of
// mcp-jail's configuration stays: its command is not in the file.
func (f *File) Unwrap(sel Selection) *Change {
	return f.change(sel, func(s Entry, p *ServerChange) (clients.Edit, clients.Reason) {
		edit, err := s.Unwrap()
		if w, ok := clients.ParseWrapped(s.Argv()); ok && w.Argv == nil {
			return edit, clients.Reason("starts the server " + w.Name + " of mcp-jail's configuration. Write the command that is there into the entry")
		}
		if err != nil {
			return edit, NotWrapped
		}
		return edit, ""
	})
}

// change collects the changes of the selected servers. A server that the editor refuses is
// left, and the others change.
func (f *File) change(sel Selection, decide func(Entry, *ServerChange) (clients.Edit, clients.Reason)) *Change {
	c := &Change{File: f, After: f.own.Data, made: f.own.Data}
	var edits []edit.Change
	var index []int // the index in c.Servers of each edit
	for _, s := range f.Entries {
		if !sel.Has(s.Server) {
			continue
		}
		p := ServerChange{Entry: s}
		d, left := decide(s, &p)
		switch {
		case left != "":
			p.Left = string(left)
			if left == s.Left && s.Detail != "" {
				p.Left += " (" + s.Detail + ")"
			}
		case s.words.Refused != nil:
			p.Left = "cannot be changed: " + s.words.Refused.Reason
		default:
			p.After = d.Apply(s.Argv())
			if d.Drop > 0 || len(d.Words) > 0 { // else only the server's file changes
				edits, index = append(edits, edit.Change{Server: s.words, Drop: d.Drop, Words: d.Words}), append(index, len(c.Servers))
			}
		}
		c.Servers = append(c.Servers, p)
	}
	// One refused entry must not keep the others from changing: leave it out and try again.
	for len(edits) > 0 {
		after, err := f.parsed.Apply(edits...)
		if err == nil {
			c.After, c.edits = after, edits
			break
		}
		i := refusedEdit(edits, err)
		c.Servers[index[i]].Left, c.Servers[index[i]].After = "cannot be changed: "+reasonOf(err), nil
		edits, index = slices.Delete(edits, i, i+1), slices.Delete(index, i, i+1)
	}
	return c
}

// refusedEdit returns the index of the edit that an error is about, or the last index if the
// error names none.
func refusedEdit(edits []edit.Change, err error) int {
	if bad := (*edit.Fault)(nil); errors.As(err, &bad) {
		if i := slices.IndexFunc(edits, func(e edit.Change) bool { return slices.Equal(e.Server.Path, bad.Path) }); i >= 0 {
			return i
		}
	}
	return len(edits) - 1
}

func reasonOf(err error) string {
	if bad := (*edit.Fault)(nil); errors.As(err, &bad) {
		of := *bad
		of.Server = "" // the text goes on after its name
		return of.Error()
	}
	return err.Error()
}

// Write keeps a copy of the file in dir/backups, and replaces the file. It returns the path of the copy. If the file has
// changed since it was read, also by another Change of it, Write writes nothing, and the error is ownfile.ErrChanged.
func (c *Change) Write(dir string, now time.Time) (backup string, err error) {
	own := c.File.own
	if err := own.Unchanged(c.made); err != nil {
		return "", err
	}
	if err := own.Replaceable(); err != nil {
		return "", err
	}
	backup, err = keepCopy(dir, own, now)
	if err != nil {
		return "", fmt.Errorf("no copy of the file could be made, so it was not changed: %w", err)
	}
	if err := own.Replace(c.After); err != nil {
		return backup, err
	}
	_ = prune(dir, own.Real) // else the next change tries it again
	if after := c.File.again(); after.Err != nil {
		return backup, &WrittenError{after.Err}
	}
	return backup, nil
}

// A WrittenError is about what follows after a file was written.
type WrittenError struct{ Err error }

func (e *WrittenError) Error() string { return e.Err.Error() }
