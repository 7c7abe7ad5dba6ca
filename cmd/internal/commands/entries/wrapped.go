package entries

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
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/shown"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// WrappedServer is a server that a client starts in mcp-jail. Its line has the values of the
// client's variables that are known here.
type WrappedServer struct {
	File  *wrapping.File
	Entry wrapping.Entry
	Own   string // the name of the server's file; "" if it has none
	line  clients.Wrapped
	home  string
}

// WrappedServers returns the servers that clients start in mcp-jail, in the order of their files.
// Files of the project come last, because others may have written them.
func WrappedServers() (servers []WrappedServer, err error) { return (&Choice{}).Wrapped() }

// Wrapped returns those of WrappedServers that are chosen.
func (s *Choice) Wrapped() (servers []WrappedServer, err error) {
	host, files, err := s.Find()
	if err != nil {
		return nil, err
	}
	program, err := FindProgram(host)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(files, func(a, b *wrapping.File) int {
		return cmp.Compare(cli.FalseFirst(a.IsProject()), cli.FalseFirst(b.IsProject()))
	})
	own := OwnNames(host)
	for _, f := range files {
		for _, e := range f.Entries {
			if v := f.Judge(e, program.Program, ClientsHost(host)); v.Jailed && v.Line.Argv != nil && (s.Servers == nil || slices.Contains(s.Servers, e.Server)) {
				v.Line.Flags, v.Line.Argv = f.Started(e, v.Line.Flags, ClientsHost(host)), f.Started(e, v.Line.Argv, ClientsHost(host))
				servers = append(servers, WrappedServer{f, e, own[v.Line.ID], v.Line, host.Home})
			}
		}
	}
	return servers, nil
}

// namedWrapped returns the servers that have a name at their client or in mcp-jail list. Of
// several with the same flags and command line it returns the first.
func namedWrapped(servers []WrappedServer, name string) (found []WrappedServer) {
	for _, w := range servers {
		same := func(o WrappedServer) bool {
			return slices.Equal(o.line.Flags, w.line.Flags) && slices.Equal(o.line.Argv, w.line.Argv)
		}
		if (w.Entry.Server == name || w.line.Name == name || w.Own == name || w.line.ID == name) && !slices.ContainsFunc(found, same) {
			found = append(found, w)
		}
	}
	return found
}

// FindWrapped returns the server that clients start in mcp-jail under a name. unknown is the
// error of the configuration, which has no such server. If several command lines have that name,
// findWrapped takes the first if it alone is in a file of the user, and else returns an error
// with some of them.
func FindWrapped(name string, unknown *config.UnknownServerError) (*WrappedServer, error) {
	servers, err := WrappedServers()
	if err != nil {
		return nil, err
	}
	found := namedWrapped(servers, name)
	switch len(found) {
	case 0:
		if said := Unclear(name); said != nil {
			return nil, exit.UsageErrorf("%s", strings.Join(said, "\n"))
		}
		return nil, notWrapped(servers, unknown)
	case 1:
		return &found[0], nil
	}
	// Files of projects come last, so the first is the user's only one.
	if !found[0].File.IsProject() && found[1].File.IsProject() {
		return &found[0], nil
	}
	const most = 5
	var lines []string
	for _, w := range found[:min(most, len(found))] {
		lines = append(lines, "  "+w.File.Client.Title+" ("+w.Place()+")\n    "+w.PlanLine(nil))
	}
	if more := len(found) - most; more > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more", more))
	}
	return nil, exit.UsageErrorf("clients start %d different servers as %s in mcp-jail; plan shows each by its line:\n%s", len(found), name, strings.Join(lines, "\n"))
}

// Configured returns the server of the configuration that the entries start which have its name at their
// client, or "". unknown is the error of the configuration, which has no server of that name.
func Configured(unknown *config.UnknownServerError) (server string) {
	host, files, err := (&Choice{}).Find()
	program, err2 := FindProgram(host)
	if err != nil || err2 != nil {
		return ""
	}
	for _, f := range files {
		for _, e := range f.Entries {
			if e.Server != unknown.Server {
				continue
			}
			line := f.Judge(e, program.Program, ClientsHost(host)).Line
			if line.Argv != nil || !slices.Contains(unknown.Known, line.Name) || server != "" && server != line.Name {
				return "" // the name has more than one meaning
			}
			server = line.Name
		}
	}
	return server
}

func notWrapped(servers []WrappedServer, unknown *config.UnknownServerError) error {
	if len(servers) == 0 {
		return unknown
	}
	names := slices.Clone(unknown.Known)
	for _, w := range servers {
		if !slices.Contains(names, w.Entry.Server) {
			names = append(names, w.Entry.Server)
		}
	}
	if near := config.Suggest(unknown.Server, names); near != "" {
		return exit.UsageErrorf("there is no server %q, in the configuration or wrapped; did you mean %q?", unknown.Server, near)
	}
	return exit.UsageErrorf("there is no server %q, in the configuration or wrapped; there are %s", unknown.Server, listed(names))
}

// listed returns the first of some names, and how many more there are. Others may have written
// the names.
func listed(names []string) string {
	const most = 20
	var shown []string
	for _, name := range names[:min(most, len(names))] {
		if _, ok := show.Candidate(name, ""); !ok || strings.Contains(name, ". ") {
			name = show.Quote(name)
		}
		shown = append(shown, name)
	}
	if more := len(names) - most; more > 0 {
		shown = append(shown, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(shown, ", ")
}

// PlanLine returns the command line that plans the server as its client starts it, with more
// flags.
func (w *WrappedServer) PlanLine(more []string) string {
	words := slices.Concat([]string{"mcp-jail", "plan"}, w.line.Flags, more, []string{"--"}, w.line.Argv)
	return show.Spelled(shown.Words(words))
}

// Place returns the file of the entry, with its line.
func (w *WrappedServer) Place() string {
	return fmt.Sprintf("%s, line %d", show.Line(cli.ShortPath(w.File.Path, w.home)), w.Entry.Line)
}

// Jailed returns the server of an entry that [wrapping.File.Judge] calls jailed.
func Jailed(f *wrapping.File, e wrapping.Entry, line clients.Wrapped, host hostfs.Host) *WrappedServer {
	line.Flags, line.Argv = f.Started(e, line.Flags, ClientsHost(host)), f.Started(e, line.Argv, ClientsHost(host))
	return &WrappedServer{f, e, OwnNames(host)[line.ID], line, host.Home}
}

// OwnNames returns the names of the files of servers, by the ids.
func OwnNames(host hostfs.Host) map[string]string {
	names := map[string]string{}
	files, _ := config.ServerFiles(host.ConfigDir) // a broken one's server does not start
	for _, f := range files {
		names[f.Server.ID] = f.Server.Name
	}
	return names
}

// KeptName returns the name under which mcp-jail keeps the server of a wrapped entry.
func KeptName(f *wrapping.File, e wrapping.Entry, line clients.Wrapped, host hostfs.Host) string {
	switch {
	case line.ID != "":
		return line.ID
	case line.Argv == nil:
		return line.Name
	}
	if dir := f.StartDir(e, ClientsHost(host)); dir != "" {
		host.Dir = dir
	}
	return session.KeyOf(host, f.Started(e, line.Argv, ClientsHost(host)))
}

// Line returns the command line of the server, with the values of the client's variables.
func (w *WrappedServer) Line() clients.Wrapped { return w.line }

// Load loads the policy that the server gets from its client. It sets the variables of the entry
// in the environment of this process.
func (w *WrappedServer) Load(waive []string) (*session.Target, error) {
	return w.LoadWith(nil, waive, "")
}

// LoadWith is Load for one tool, or for the whole server if tool is "", as if the user had written a file of the
// server. nil is the one that is there.
func (w *WrappedServer) LoadWith(file *config.ServerFile, waive []string, tool string) (*session.Target, error) {
	flags, err := cmdline.ParseRun(append([]string{"run"}, w.line.Flags...))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", w.Place(), err)
	}
	// The client sets these before it starts mcp-jail.
	for _, v := range w.File.ServerEnv(w.Entry, w.home) {
		err = errors.Join(err, os.Setenv(v.Name, v.Value))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", w.Place(), err)
	}
	flags.Waive = append(flags.Waive, waive...)
	name, server := "", cmdline.Server{Given: true, Argv: w.line.Argv}
	if w.line.Argv == nil { // it starts a server of the configuration
		name, server = w.line.Name, cmdline.Server{}
	}
	t, err := session.LoadWith(file, flags.ConfigFlags, flags.PolicyFlags, name, tool, server)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", w.Place(), err)
	}
	return t, nil
}

// Earlier returns what the server of an entry of the user's own kept before, without a jail.
func (w *WrappedServer) Earlier() (earlier session.Earlier, err error) {
	flags, err := cmdline.ParseRun(append([]string{"run"}, w.line.Flags...))
	if err != nil || flags.ID == "" || w.File.IsProject() {
		return earlier, nil // status says what is wrong, and nothing of the user's is for another line
	}
	for _, v := range w.File.ServerEnv(w.Entry, w.home) {
		was, set := os.LookupEnv(v.Name)
		if err := os.Setenv(v.Name, v.Value); err != nil {
			return earlier, err
		}
		defer func() {
			if os.Unsetenv(v.Name); set {
				os.Setenv(v.Name, was)
			}
		}()
	}
	t, err := session.Load(flags.ConfigFlags, flags.PolicyFlags, "", "", cmdline.Server{Given: true, Argv: w.line.Argv})
	if err != nil {
		return earlier, fmt.Errorf("%s: %w", w.Place(), err)
	}
	return session.FindEarlier(t), nil
}

// UseClientEnv sets the variables in the environment of this process that a client of the user sets
// for a server of the configuration, which it starts by its name. restore takes them back. place is
// the client, and the line of the entry, and "" if nothing was set. Variables that are set stay as they are.
func UseClientEnv(name string) (restore func(), place string) {
	host, files, err := (&Choice{}).Find()
	program, err2 := FindProgram(host)
	if err != nil || err2 != nil {
		return func() {}, ""
	}
	for _, f := range files {
		for _, e := range f.Entries {
			v := f.Judge(e, program.Program, ClientsHost(host))
			if !v.Jailed || v.Line.Argv != nil || v.Line.Name != name || f.IsProject() {
				continue
			}
			var set []string
			for _, one := range f.ServerEnv(e, host.Home) {
				if _, is := os.LookupEnv(one.Name); !is && os.Setenv(one.Name, one.Value) == nil {
					set = append(set, one.Name)
				}
			}
			if set == nil {
				return func() {}, ""
			}
			w := WrappedServer{f, e, "", v.Line, host.Home}
			return func() {
				for _, name := range set {
					os.Unsetenv(name)
				}
			}, f.Client.Title + " starts it: " + w.Place()
		}
	}
	return func() {}, ""
}
