package grantcmd

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// server is a server with its file, which may not be there yet, or with the table that the user wrote.
type server struct {
	Name  string // of the file, without ".toml", or of the table
	Key   string // the id, the key of a line, or the name of a table
	word  string // what it is called, see index.Server
	host  hostfs.Host
	words []string // nil for a table
	dir   string   // where its client starts it; "" if only the client knows
	place string   // where that is said, in words

	of       *index.Server
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
	out := &server{of: s, others: x, host: x.Host, word: s.Name, Key: s.Key, words: s.Words, dir: s.Dir, place: s.Place()}
	for _, e := range s.Entries {
		out.starters = append(append(out.starters, e.File.Client), e.File.Also...)
	}
	if len(s.Entries) > 0 {
		if out.line, err = s.JailedEntry(word); err != nil {
			return nil, x.Untrusted(err)
		}
		if file := out.line.Configuration(); file != nil {
			return nil, terminal.UsageErrorf("%s has its policy in a file of its own, %s: change it there", s.Title(), show.Spelled(file))
		}
	}
	isTable := out.line != nil && out.line.Line().Argv == nil || out.line == nil && s.Kept != nil && s.File == nil && s.Kept.About.Configuration != nil && s.Kept.About.Configuration.Configured
	switch {
	case s.Table != nil && s.Table.Project != "":
		return nil, terminal.UsageErrorf("%s is a server of the project's file: change it there, at %s, and trust it again, with  %s", show.Name(s.Table.Name), show.Line(cli.ShortPath(s.Table.Where, x.Host.Home)), show.Typed("mcp-jail trust", s.Table.Project))
	case s.Table != nil:
		out.Name, out.Key, out.words = s.Table.Name, s.Table.Name, nil
		return out, nil
	case isTable:
		return nil, terminal.UsageErrorf("%s is a server of a configuration that does not hold here, or has an error: mcp-jail check shows that. Its directory is %s", s.Title(), show.Line(cli.ShortPath(s.Dir, x.Host.Home)))
	case s.Key == "":
		return nil, terminal.UsageErrorf("%s has no id, and its line and directory are not known: start it once, or give it an id, with  %s", s.Title(), show.Typed("mcp-jail wrap --server", s.Called[0]))
	case out.words == nil:
		return nil, terminal.UsageErrorf("the line of %s is not known: start it once", s.Title())
	}
	out.Name, err = fileName(x, s, out.Key)
	return out, err
}

// load loads the policy that the server has if its file is as given; nil is the one that is there.
func (s *server) load(file *config.ServerFile, tool string) (*session.Target, error) {
	o := config.LoadOptions{Candidate: file}
	switch {
	case s.line != nil:
		return s.line.LoadWith(o, nil, tool)
	case s.words == nil:
		return session.LoadWith(o, cmdline.ConfigFlags{}, cmdline.PolicyFlags{}, s.Key, tool, cmdline.Server{})
	}
	flags := cmdline.PolicyFlags{}
	if !s.isLine() {
		flags.ID = s.Key
	}
	return session.LoadWith(o, cmdline.ConfigFlags{}, flags, "", tool, cmdline.Server{Given: true, Argv: s.words})
}

// isTable reports whether the user wrote the policy as a table, which mcp-jail does not change.
func (s *server) isTable() bool { return s.words == nil }

// isLine reports whether a line without an id starts the server.
func (s *server) isLine() bool { return s.words != nil && !records.IsID(s.Key) }

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

// fileName returns the name for the file of a server: that of the file that it has, or the one that is known from its key.
func fileName(x *index.Index, s *index.Server, key string) (string, error) {
	if s.File != nil {
		return s.File.Server.Name, nil
	}
	name := records.ShortKey(key)
	for _, o := range x.Servers {
		if o.File != nil && o.File.Server.Name == name {
			return "", fmt.Errorf("nothing was changed: %s is the file of another server", show.Line(o.File.Path))
		}
	}
	return name, nil
}

// Short returns a path for people.
func (s *server) Short(path string) string { return show.Line(cli.ShortPath(path, s.host.Home)) }

// Command returns the command line that grants something to a tool, or to the whole server, for a shell.
func (s *server) Command(tool string, words []string) string {
	if tool != "" {
		words = append(words, "--tool", tool)
	}
	return show.Line(show.Typed("mcp-jail grant", s.word) + " " + change.AsTyped(words))
}

// base is what a server has before an edit.
type base struct {
	*server
	was  *version
	at   func(path string) string // where the path of a grant leads, before links are followed
	runs bool                     // a session of it runs that can start it again
	made diagnostics.Made         // what the policy of that is made from
	kept *diagnostics.Kept        // how that differs from the one of the files; nil: it does not
}

// version is a file of a server, as it is or would be. A new one has no rules.
type version struct {
	*config.ServerFile
	server   *server
	policies map[string]*checked // of each tool; "" is the whole server
}

// of returns the policy of a tool.
func (v *version) of(tool string) (now *checked, err error) {
	if now = v.policies[tool]; now != nil {
		return now, nil
	}
	if now, err = v.server.check(v.ServerFile, tool); err == nil {
		v.policies[tool] = now
	}
	return now, err
}

// with returns the version with another file. known is what is known of its policies.
func (v *version) with(f *config.ServerFile, known ...*checked) *version {
	v = &version{f, v.server, map[string]*checked{}}
	for _, now := range known {
		v.policies[now.tool] = now
	}
	return v
}

// read reads the file of a server, and the policy that it has now.
func (s *server) read() (*base, error) {
	files, _ := config.ReadServers(s.host.ConfigDir)()
	var file, saved *config.ServerFile
	if at := slices.IndexFunc(files, func(f *config.ServerFile) bool { return f.Server.ID == s.Key }); at >= 0 {
		file = files[at]
	}
	if s.isLine() { // the words of a record may lack secrets, and so not lead to the file
		saved = file
	}
	now, err := s.check(saved, "")
	if err != nil {
		return nil, err
	}
	in := person{runtime.GOOS, s.host.Home, s.dir} // relative paths of a file are in the workspace
	if w := now.target.Policy.Workspace; w != "" {
		in.dir = in.absolute(w)
	}
	switch {
	case s.isTable():
		file, err = now.target.Table().Checked()
	case file == nil:
		made := &config.Server{Name: s.Name, ID: s.Key, Command: s.words[0], Arguments: s.words[1:]}
		file = &config.ServerFile{Path: filepath.Join(s.host.ConfigDir, config.ServersDir, s.Name+".toml"), Server: made}
	}
	return &base{server: s, at: in.absolute, was: (&version{server: s}).with(file, now)}, err
}

// policy returns the policy of the whole server.
func (b *base) policy() *policy.Policy { return b.was.policies[""].target.Policy }

// At returns where the path of a grant leads.
func (b *base) At(path string) string { return session.ResolveLinks(b.at(path)) }

// Whole returns an object as a file has it: with a whole path.
func (b *base) Whole(o change.Object) change.Object {
	if path, err := (person{b.host.OS, b.host.Home, b.at(".")}).path(o.Fs.Path); o.Fs.Path != "" && o.Fs.Path != "." && err == nil {
		o.Fs.Path = path
	}
	return o
}

// decider returns what decides about changes of a policy.
func (b *base) decider(now *checked) *session.Decider {
	d := &session.Decider{Was: now.target, At: b.at}
	if b.others != nil {
		d.Others = func() []policy.Started { return b.others.Others(b.Key) }
	}
	return d
}
