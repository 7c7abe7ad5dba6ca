package grantcmd

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// checked is a policy as a start would have it.
type checked struct {
	target   *session.Target
	placed   []resolve.PlacedRule // which hold in each directory in which the server may be started
	warnings []policy.Warning
	files    error // why a start would refuse its paths
	start    error // why a server with it would not start
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

// check is load with what a start makes of it. The error is about the file itself.
func (s *server) check(file *config.ServerFile, tool string) (*checked, error) {
	dir := s.dir
	if dir == "" { // the default policy grants none of it
		dir, _ = os.UserHomeDir()
	}
	defer goTo(dir)()
	t, err := s.load(file, tool)
	if err != nil {
		return nil, err
	}
	t.Policy.Narrow = nil // see takenAway
	now, host := &checked{target: t}, t.Host
	host.Dir = s.dir
	now.placed, now.warnings, now.files = resolve.CheckFiles(t.Policy, host)
	if now.start = t.Resolve(); now.start == nil {
		_, now.start = t.Compile()
	} else if t.InstallsAfter(now.start) {
		now.start = nil // its package is not there yet, and the rest cannot be known
	}
	return now, nil
}

// goTo changes the working directory until the function that it returns is called.
func goTo(dir string) (back func()) {
	was, err := os.Getwd()
	if err != nil || os.Chdir(dir) != nil {
		return func() {}
	}
	return func() { os.Chdir(was) }
}

// takenAway returns what of the grants a trusted project's file takes away where the server starts, or where the user is,
// in words.
func (e *Edit) takenAway(file *config.ServerFile) string {
	defer goTo(cmp.Or(e.dir, e.host.Dir))()
	t, err := e.load(file, e.tool)
	asked, tableErr := e.tableOf(e.asked)
	if err != nil || tableErr != nil || t.Policy.Narrow == nil || e.remove || asked.Access == nil {
		return ""
	}
	a := asked.Access
	where, both, lacks := t.Policy.Narrow.Where, &checked{target: t}, []string{}
	t.Policy = t.Policy.Narrowed()
	both.placed, _, _ = resolve.CheckFiles(t.Policy, t.Host)
	for _, r := range a.Fs {
		if by, denied := both.gives(e.grants.At(r.Path), r.Rights()); r.Rights() != 0 && (by == "" || denied != "") {
			lacks = append(lacks, r.Path)
		}
	}
	for _, r := range a.Net {
		if by, _ := policy.MatchNet(t.Policy.Net, r.Host, "", r.Ports()[0], "", ""); r.Allow && !by.Allow {
			lacks = append(lacks, r.Host)
		}
	}
	for _, r := range a.Env {
		if by, _ := policy.MatchEnv(t.Policy.Env, r.Name); r.Read && !by.Read {
			lacks = append(lacks, r.Name)
		}
	}
	if len(lacks) == 0 {
		return ""
	}
	return fmt.Sprintf("not in force in %s: %s, which you trusted, takes away  %s", show.Line(cli.ShortPath(t.Host.Dir, e.host.Home)), show.Line(cli.ShortPath(where, e.host.Home)), show.Line(strings.Join(lacks, ", ")))
}

// said are the codes of the warnings that the change itself says.
var said = []string{"sensitive-granted", "useless-rule"}

// since returns why a server does not start any more, and the other warnings that its start did not have before.
func (after *checked) since(now *checked) (warnings []string, err error) {
	for _, w := range after.warnings {
		isSame := func(o policy.Warning) bool { return o.Code == w.Code && o.Message == w.Message }
		if !slices.Contains(said, w.Code) && !slices.ContainsFunc(now.warnings, isSame) {
			warnings = append(warnings, w.Message)
		}
	}
	switch {
	case after.files != nil && now.files == nil:
		return nil, refusal(after.files)
	case isNew(after.start, now.start):
		return nil, refusal(after.start)
	case after.start != nil:
		warnings = append(warnings, "the server does not start, with this or without: "+terminal.OneLine(after.start))
	}
	return warnings, nil
}

func refusal(err error) error {
	return terminal.UsageErrorf("nothing was changed, because the server would not start with it: %s", err)
}

// isNew reports whether a start is refused that was not refused before. What this host cannot
// enforce of any policy is not new.
func isNew(err, before error) bool {
	var gaps *confine.GapError
	switch {
	case err == nil:
		return false
	case before == nil:
		return true
	case errors.As(err, &gaps) && errors.As(before, &gaps):
		return false
	}
	return err.Error() != before.Error()
}

// gives returns the rule that gives rights at a path in each directory in which the server may be started, or the
// one that denies them.
func (now *checked) gives(path string, rights policy.Rights) (by, denied string) {
	path = session.ResolveLinks(path)
	for _, r := range now.placed {
		switch {
		case !hostfs.Within(now.target.Host.OS, path, r.At):
		case r.Deny != 0 && (rights == 0 || r.Deny&rights != 0):
			denied = r.Where
		case r.Rights().Has(rights):
			by = r.Where
		}
	}
	return by, denied
}

// server is a server with its file, which may not be there yet, or with the table that the user wrote.
type server struct {
	Name  string   // of the file, without ".toml", or of the table
	Key   string   // the id, the key of a line, or the name of a table
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
	out := &server{of: s, others: x, Key: s.Key, words: s.Words, dir: s.Dir, place: s.Place()}
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

// commandOf returns a command line of grant, for a shell.
func commandOf(server string, words []string) string {
	return show.Line(show.Typed("mcp-jail grant", server) + " " + change.AsTyped(words))
}
