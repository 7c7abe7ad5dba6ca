package index

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// name gives each server its name, which is known from its key alone: that of its file or table, or LABEL-KEY8. Where two
// have one name, each is named by its key. A server without a key, which mcp-jail does not start, has that of its client.
func (x *Index) name() {
	x.named = map[string][]*Server{}
	for _, s := range x.Servers {
		switch {
		case s.File != nil:
			s.Name = s.File.Server.Name
		case s.Table != nil:
			s.Name = s.Table.Name
		case s.Key != "":
			s.Name = records.ShortKey(s.Key)
		default:
			s.Name = s.Called[0]
			continue
		}
		x.named[s.Name] = append(x.named[s.Name], s)
	}
	for name, all := range maps.Clone(x.named) {
		first := all
		for _, comesFirst := range []func(*Server) bool{func(s *Server) bool { return s.File != nil || s.Table != nil }, func(s *Server) bool { return s.Table != nil && s.Table.Project == "" }} {
			if some := only(first, comesFirst); some != nil {
				first = some
			}
		}
		x.named[name] = first
		for _, s := range all {
			if (len(first) > 1 || s != first[0]) && s.Key != name { // that of a table is its name
				s.Name, x.named[s.Key] = s.Key, []*Server{s}
			}
		}
	}
}

func only(all []*Server, is func(*Server) bool) (some []*Server) {
	for _, s := range all {
		if is(s) {
			some = append(some, s)
		}
	}
	return some
}

// WithKey returns the server with a key, or nil.
func (x *Index) WithKey(key string) *Server { return x.joined[key] }

// NameOf returns the name of the server with a key.
func (x *Index) NameOf(key string) string {
	if s := x.WithKey(key); s != nil {
		return s.Name
	}
	return key
}

// Pick returns the server that a word means: the one with that name, else the only one that a client or a person calls so,
// else the only one with this package, or whose name begins so. fits says which servers a command can use; nil is all. If the
// one that the word means does not fit, it is returned all the same, and the command says what it lacks.
func (x *Index) Pick(word string, fits func(*Server) bool) (*Server, error) {
	for _, err := range x.Broken {
		if strings.HasPrefix(err.Error(), filepath.Join(x.Host.ConfigDir, config.ServersDir, word+".toml")+":") {
			return nil, err
		}
	}
	found := x.named[word]
	if len(found) == 1 && !x.counts(found[0]) { // it is left from earlier, or another project's: the user may mean one that counts here
		found = append(found[:1:1], only(x.Servers, func(s *Server) bool { return s.IsOwn() && x.counts(s) && isCalled(s, word) })...)
	}
	if found == nil {
		found = fitting(only(x.Servers, func(s *Server) bool { return isCalled(s, word) }), fits)
		if len(found) == 0 || len(found) == 1 && !found[0].IsOwn() { // a project takes no word from a server of the user's
			found = append(found, fitting(only(x.Servers, func(s *Server) bool { return (found == nil || s.IsOwn()) && isAlmost(s, word) }), fits)...)
		}
	}
	switch {
	case len(found) > 1:
		return nil, x.ambiguous(word, found)
	case len(found) == 0, fits != nil && !fits(found[0]) && !found[0].IsDeclared() && x.unreadable() != "": // it may be in that file
		return nil, x.unknown(word)
	}
	return found[0], nil
}

// fitting returns the servers that fit, or all if none does.
func fitting(all []*Server, fits func(*Server) bool) []*Server {
	if some := only(all, func(s *Server) bool { return fits == nil || fits(s) }); some != nil {
		return some
	}
	return all
}

// counts reports whether a client starts a server in the working directory, or a table declares it here.
func (x *Index) counts(s *Server) bool {
	return s.Table != nil || slices.ContainsFunc(s.Entries, func(e *Entry) bool { return e.For == "" || e.For == x.Host.Dir })
}

func isCalled(s *Server, word string) bool { return s.Key == word || slices.Contains(s.Called, word) }

// isAlmost reports whether a word is the package of a server, or the beginning of a name of it.
func isAlmost(s *Server, word string) bool {
	return word != "" && (s.Kept != nil && s.Kept.isPackage(word) || slices.ContainsFunc(append([]string{s.Name, s.Key}, s.Called...), func(name string) bool { return strings.HasPrefix(name, word) }))
}

// An AmbiguousError reports a word that may mean several servers.
type AmbiguousError struct {
	Servers []*Server
	text    string
}

func (e *AmbiguousError) Error() string { return e.text }

// maxShown is how many servers an error lists.
const maxShown = 10

func (x *Index) ambiguous(word string, found []*Server) error {
	e := &AmbiguousError{Servers: found, text: fmt.Sprintf("%s means %d servers; type one of these:", show.Name(word), len(found))}
	slices.SortStableFunc(found, func(a, b *Server) int { return strings.Compare(a.Name, b.Name) })
	for _, s := range found[:min(maxShown, len(found))] {
		words := show.Name(s.Name)
		switch {
		case s.Key != "" && s.Name == word: // it is not sure here
			words = show.Name(s.Key)
		case s.Key == "":
			words += " --client " + s.Entries[0].File.Client.Name
			if slices.ContainsFunc(found, func(o *Server) bool {
				return o != s && len(o.Entries) > 0 && o.Entries[0].File.Client.Name == s.Entries[0].File.Client.Name
			}) {
				words = show.Name(s.Name) + " --file " + show.Name(s.Entries[0].File.Path)
			}
		}
		e.text += "\n  " + words + "   " + s.Place()
	}
	if more := len(found) - maxShown; more > 0 {
		e.text += fmt.Sprintf("\n  and %d more", more)
	}
	return terminal.UsageErrorf("%w", e)
}

func (x *Index) unknown(word string) error {
	var names []string
	for _, s := range x.Servers {
		names = append(append(names, s.Name), s.Called...)
	}
	text := "there is no server " + show.Name(word)
	switch near, unreadable := config.Suggest(word, names), x.unreadable(); {
	case near != "" && near != word:
		text += unreadable + "; did you mean " + show.Name(near) + "?"
	case unreadable != "":
		text = show.Name(word) + " was not found" + unreadable
	case len(names) == 0:
		text += ": no client and no configuration has one, and nothing is stored of any"
	default:
		text += ". To see all servers:\n  mcp-jail status --all"
	}
	for _, err := range x.Broken {
		text += "\na server's file cannot be used: " + show.Line(cli.ShortPath(err.Error(), x.Host.Home))
	}
	if x.Err != nil {
		text += "\n" + terminal.OneLine(x.Err)
	}
	return x.Untrusted(terminal.UsageErrorf("%s", text))
}

// Untrusted returns an error about a server, and before it that the project's file is not trusted, which may have declared it.
func (x *Index) Untrusted(err error) error {
	if x.Ignored == nil {
		return err
	}
	return terminal.UsageErrorf("%s\n%w", x.Ignored, err)
}

// unreadable says which files of clients could not be read, and why; "" for none.
func (x *Index) unreadable() (text string) {
	for _, f := range x.Files {
		if f.Err != nil {
			text += ", and " + show.Line(cli.ShortPath(f.Path, x.Host.Home)+" could not be read: "+strings.TrimPrefix(f.Err.Error(), f.Path+": "))
		}
	}
	return text
}

// Propose has a shell propose the names of servers, but not those that only a project's file of a client has.
func Propose(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
	x, err := Read()
	if err != nil { // the command says what is wrong
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, s := range x.Servers {
		if !s.IsOwn() && s.Kept == nil && s.Table == nil {
			continue
		}
		about := ""
		switch {
		case s.Table != nil && s.Table.Project != "":
			about = s.Table.Project
		case s.Kept != nil && s.Kept.About.Project != "":
			about = s.Kept.About.Project
		case len(s.Entries) > 0:
			about = s.Entries[0].File.Client.Title
		}
		if !strings.Contains(s.Name, "\t") { // it would be read as another name
			names = append(names, s.Name+"\t"+about)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
