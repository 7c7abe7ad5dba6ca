package index

import (
	"fmt"
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

// The names of servers, by what they say: what comes first decides.
const (
	files  = iota // of a server's file, or of a table that holds here
	keys          // under which something is kept
	called        // by clients and people
	tiers
)

// name gives each server the shortest of its names that no other server has.
func (x *Index) name() {
	x.words = [tiers]map[string][]*Server{{}, {}, {}}
	add := func(tier int, word string, s *Server) {
		if word != "" && !slices.Contains(x.words[tier][word], s) {
			x.words[tier][word] = append(x.words[tier][word], s)
		}
	}
	for _, s := range x.Servers {
		add(keys, s.Key, s)
		if s.File != nil {
			add(files, s.File.Server.Name, s)
		}
		if s.Table != nil {
			add(files, s.Table.Name, s)
		}
		for _, name := range s.Called {
			add(called, name, s)
		}
		if s.Key != "" {
			add(called, records.ShortKey(s.Key), s)
		}
	}
	for _, s := range x.Servers {
		names := slices.Clone(s.Called)
		switch {
		case s.File != nil:
			names = append([]string{s.File.Server.Name}, names...)
		case s.Table != nil:
			names = append([]string{s.Table.Name}, names...)
		}
		if s.Key != "" {
			names = append(names, records.ShortKey(s.Key), s.Key)
		}
		s.Name = names[0]
		for _, name := range names {
			if found := x.exact(name, nil); len(found) == 1 && found[0] == s {
				s.Name = name
				break
			}
		}
	}
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

// exact returns the servers that have a whole name. A table of the configuration here hides what else has its name, whether it
// fits or not: a project's server must not be taken for the user's.
func (x *Index) exact(word string, fits func(*Server) bool) []*Server {
	for _, s := range x.words[called][word] { // what a client calls so in this project, before what has the name elsewhere
		if slices.ContainsFunc(s.Entries, func(e *Entry) bool { return e.Server == word && e.For == x.Host.Dir && !e.File.IsProject() }) {
			return x.ofProject(x.words[called][word])
		}
	}
	isCalled := func(s *Server) bool {
		return slices.ContainsFunc(s.Entries, func(e *Entry) bool { return e.Server == word && !e.File.IsProject() })
	}
	for _, tier := range x.words {
		all := tier[word]
		if slices.ContainsFunc(x.words[called][word], isCalled) { // before what is left of another server that was called so
			all = slices.DeleteFunc(slices.Clone(all), func(s *Server) bool { return !s.IsDeclared() })
		}
		if found := x.preferred(all, fits); found != nil {
			return found
		}
		if i := slices.IndexFunc(all, func(s *Server) bool { return s.Table != nil }); i >= 0 {
			return all[i : i+1]
		}
	}
	if fits != nil {
		return x.exact(word, nil)
	}
	return nil
}

// preferred returns the servers that fit: those that the user has declared, if there are any, and of these without those
// for other projects. A file that has one for the project here prefers it to that for all projects.
func (x *Index) preferred(all []*Server, fits func(*Server) bool) (found []*Server) {
	for _, isOwn := range []bool{true, false} {
		for _, s := range all {
			if s.IsOwn() == isOwn && (fits == nil || fits(s)) {
				found = append(found, s)
			}
		}
		if len(found) > 1 {
			return x.ofProject(found)
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// ofProject returns the servers that count in the working directory, if they differ in that.
func (x *Index) ofProject(all []*Server) []*Server {
	if started := slices.DeleteFunc(slices.Clone(all), func(s *Server) bool { return len(s.Entries) > 0 || s.Dir != x.Host.Dir }); len(started) > 0 && !all[0].IsOwn() {
		return started
	}
	counts := slices.DeleteFunc(slices.Clone(all), func(s *Server) bool {
		e := s.EntryIn(x.Host.Dir)
		return e != nil && e.For != "" && e.For != x.Host.Dir
	})
	if len(counts) == 0 {
		return all
	}
	file := ""
	var only *Server
	for _, s := range counts {
		e := s.EntryIn(x.Host.Dir)
		if e == nil || file != "" && file != e.File.Path {
			return counts
		}
		if file = e.File.Path; e.For == x.Host.Dir {
			only = s
		}
	}
	if only == nil {
		return counts
	}
	return []*Server{only}
}

// Pick returns the server that a word means: by its name, by what a client or a person calls it, by its package, or
// by the beginning of a name. fits says which servers a command can use; nil is all. If the one that the word means does
// not fit, it is returned all the same, and the command says what it lacks.
func (x *Index) Pick(word string, fits func(*Server) bool) (*Server, error) {
	for _, err := range x.Broken {
		if strings.HasPrefix(err.Error(), filepath.Join(x.Host.ConfigDir, config.ServersDir, word+".toml")+":") {
			return nil, err
		}
	}
	found := x.exact(word, fits)
	for _, fits := range []func(*Server) bool{fits, nil} {
		for _, matches := range []func(*Server, string) bool{isPackage, begins} {
			if found == nil && word != "" {
				found = x.preferred(x.Servers, func(s *Server) bool { return matches(s, word) && (fits == nil || fits(s)) })
			}
		}
		switch len(found) {
		case 0:
		case 1:
			if fits != nil && !fits(found[0]) && !found[0].IsDeclared() && x.unreadable() != "" {
				return nil, x.unknown(word) // it may be in that file
			}
			return found[0], x.contested(word, found[0])
		default:
			return nil, x.ambiguous(word, found)
		}
	}
	return nil, x.unknown(word)
}

func isPackage(s *Server, name string) bool { return s.Kept != nil && s.Kept.isPackage(name) }

func begins(s *Server, word string) bool {
	return slices.ContainsFunc(append([]string{s.Name, s.Key}, s.Called...), func(name string) bool { return strings.HasPrefix(name, word) })
}

// contested returns an error if a server that the user has not declared has a word which is the package, or the beginning of the
// name, of one that is the user's: a project must not take the word from it.
func (x *Index) contested(word string, found *Server) error {
	if found.IsOwn() || found.Name == word && found.Key == word {
		return nil
	}
	users := slices.DeleteFunc(slices.Clone(x.Servers), func(s *Server) bool { return !s.IsOwn() || !isPackage(s, word) && !begins(s, word) })
	if len(users) == 0 {
		return nil
	}
	return x.ambiguous(word, append(users, found))
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
		if only := x.exact(s.Name, nil); (len(only) != 1 || only[0] != s) && len(s.Entries) > 0 {
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
	if x.Ignored != nil {
		text += "\n" + x.Ignored.Error()
	}
	if x.Err != nil {
		text += "\n" + terminal.OneLine(x.Err)
	}
	return terminal.UsageErrorf("%s", text)
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
