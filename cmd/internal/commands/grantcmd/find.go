package grantcmd

import (
	"fmt"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/identity"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// server is a server with its file, which may not be there yet.
type server struct {
	Name  string // of the file, without ".toml"
	Key   string // the id, the key of a line, or the name of a table
	adds  bool   // the file only adds to a line or a table
	words []string
	dir   string // where its client starts it; "" if only the client knows
	place string // where that is said, in words

	others   *index.Index // all servers
	line     *index.Entry // nil if no client's file starts it
	starters []clients.Client
}

// find returns the server that a word means.
func find(x *index.Index, word string) (*server, error) {
	s, err := x.Pick(word, hasFile)
	if err != nil {
		return nil, err
	}
	out := &server{others: x, Key: s.Key, adds: !identity.IsID(s.Key), words: s.Words, dir: s.Dir, place: s.Place()}
	for _, e := range s.Entries {
		out.starters = append(append(out.starters, e.File.Client), e.File.Also...)
	}
	if len(s.Entries) > 0 {
		if out.line, err = s.JailedEntry(word); err != nil {
			return nil, err
		}
		if file := out.line.Configuration(); file != nil {
			return nil, exit.UsageErrorf("%s has its policy in a file of its own, %s: change it there", s.Title(), show.Spelled(file))
		}
	}
	isTable := out.line != nil && out.line.Line().Argv == nil || out.line == nil && s.Kept != nil && s.File == nil && s.Kept.About.Configuration != nil && s.Kept.About.Configuration.Configured
	switch {
	case s.Table != nil && s.Table.Project != "":
		return nil, exit.UsageErrorf("%s is a server of the project's file: change it there, at %s, and trust it again, with  %s", show.Name(s.Table.Name), show.Line(cli.ShortPath(s.Table.Where, x.Host.Home)), show.Typed("mcp-jail trust", s.Table.Project))
	case s.Table != nil:
		out.Key, out.adds, out.words = s.Table.Name, true, nil
	case isTable:
		return nil, exit.UsageErrorf("%s is a server of a configuration that does not hold here, or has an error: mcp-jail check shows that. Its directory is %s", s.Title(), show.Line(cli.ShortPath(s.Dir, x.Host.Home)))
	case s.Key == "":
		return nil, exit.UsageErrorf("%s has no id, and its line and directory are not known: start it once, or give it an id, with  %s", s.Title(), show.Typed("mcp-jail wrap --server", s.Called[0]))
	case out.words == nil:
		return nil, exit.UsageErrorf("the line of %s is not known: start it once", s.Title())
	}
	out.Name = fileName(x, s, out)
	return out, nil
}

// hasFile reports whether a server has a file of its own, or can have one.
func hasFile(s *index.Server) bool {
	switch {
	case s.File != nil, s.Table != nil:
		return true
	case len(s.Entries) > 0:
		return s.Key != "" && s.IsJailed()
	}
	return s.Key != "" && s.Words != nil
}

// fileName returns the name for the file of a server: that of the file that it has, or one that none has.
func fileName(x *index.Index, s *index.Server, of *server) string {
	if s.File != nil {
		return s.File.Server.Name
	}
	name := identity.FileName(of.Key)
	if of.words != nil {
		name = identity.Short(of.Key)
	}
	taken := map[string]bool{}
	for _, o := range x.Servers {
		if o.File != nil {
			taken[o.File.Server.Name] = true
		}
	}
	free := name
	for n := 2; taken[free]; n++ {
		free = fmt.Sprintf("%s-%d", name, n)
	}
	return free
}

// commandOf returns a command line of grant, for a shell.
func commandOf(server string, words []string) string {
	line := show.Typed("mcp-jail grant", server)
	for _, w := range words {
		word, _ := show.Path(w)
		line += " " + word
	}
	return show.Line(line)
}

// servers proposes the servers that have a file, or can have one.
func servers() []string {
	x, err := index.Read()
	if err != nil {
		return nil // grant says what is wrong
	}
	return x.Names(func(s *index.Server) bool { return hasFile(s) && (s.File != nil || s.IsOwn()) })
}
