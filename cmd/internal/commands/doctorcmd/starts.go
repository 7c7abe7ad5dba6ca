package doctorcmd

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/lines"
	"github.com/mcp-jail/mcp-jail/cmd/internal/programs"
	"github.com/mcp-jail/mcp-jail/cmd/internal/shown"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// A start is what a client does with an entry.
type start struct {
	Client  string `json:"client"`
	File    string `json:"file"`
	Line    int    `json:"line"`
	Server  string `json:"server"`
	Project string `json:"project,omitempty"`
	Jail    string `json:"jail"`             // yes, no, "?" or "-", as in status
	Starts  string `json:"starts,omitempty"` // the client's program, where it is found
	Runs    string `json:"runs,omitempty"`   // the server's program or package

	title   string // of the client
	of      *wrapping.File
	entry   wrapping.Entry
	verdict wrapping.Verdict
	jail    string   // the mcp-jail that the entry starts, if that is known; "" without one
	argv    []string // of the server
	line    runline.Line
	isLine  bool // argv is the line of a package, which is line

	isConfigured bool // argv is that of a server of the configuration, nil if that is not known
}

func (s *start) name() string { return s.Server + " (" + s.title + ")" }

// startsNothing reports whether the client is known to start no program of the entry: it is turned off, or
// has a URL.
func (s *start) startsNothing() bool {
	return !s.isJailed() && s.verdict.Why != "" && !s.verdict.Open
}

// isJailed reports whether the entry's line starts the server in mcp-jail, this one or another.
func (s *start) isJailed() bool { return s.verdict.Jailed || s.verdict.Unclear }

func (i *installation) lookStarts() {
	for _, f := range i.files {
		if f.Err != nil {
			continue
		}
		for _, e := range f.Entries {
			i.starts = append(i.starts, i.lookStart(f, e))
		}
	}
}

func (i *installation) lookStart(f *wrapping.File, e wrapping.Entry) *start {
	client, _ := e.Reader()
	s := &start{Client: client.Name, File: f.Path, Line: e.Line, Server: e.Server, Project: e.For, title: client.Title, of: f, entry: e}
	s.verdict = f.Judge(e, i.program, i.clients)
	switch v := s.verdict; {
	case v.Repair != nil && v.Repair.Gone:
		s.Jail = "-" // nothing starts
	case v.Unclear:
		s.Jail = "?"
	case v.Jailed:
		s.Jail = "yes"
	case s.startsNothing():
		s.Jail = "-"
		return s
	default:
		s.Jail = "no"
	}
	argv := f.Started(e, e.Argv(), i.clients)
	if len(argv) == 0 || f.References(argv[0]) {
		return s
	}
	if s.argv = argv; s.isJailed() {
		s.argv = f.Started(e, s.verdict.Line.Argv, i.clients)
		s.jail = i.locate(s, argv[0], false)
	}
	s.Starts = cmp.Or(i.locate(s, argv[0], false), argv[0])
	if s.isConfigured = s.isJailed() && s.argv == nil; s.isConfigured {
		s.argv = i.configured(s)
	}
	var err error
	if s.line, err = runline.Parse(s.argv); err == nil {
		s.isLine = true
	}
	switch {
	case s.isConfigured && s.argv == nil:
		s.Runs = s.verdict.Line.Name + ", configured"
	case s.isLine:
		s.Runs = s.line.Packages[0].String()
	case s.script() != "":
		s.Runs = cmp.Or(i.file(s, s.script()), s.script())
	case s.isJailed():
		s.Runs = cmp.Or(i.locate(s, s.argv[0], true), s.argv[0])
	}
	return s
}

// configured returns the command line of a server of the user's configuration that an entry names, or
// nil. What a project's file or one of --config says of a name is left to check.
func (i *installation) configured(s *start) []string {
	flags, err := cmdline.ParseRun(append([]string{"run"}, s.verdict.Line.Flags...))
	if err != nil || i.config == nil || len(flags.Config) > 0 || i.config.Servers[flags.Server] == nil {
		return nil
	}
	p, err := i.config.Policy(flags.Server, "")
	if err != nil || p.Project != "" || p.Workspace != "" || flags.Workspace != "" {
		return nil
	}
	return append([]string{p.Command}, p.Arguments...)
}

// dir returns the directory in which the client starts the server, or "" if only the client knows.
func (i *installation) dir(s *start) string { return s.of.StartDir(s.entry, i.clients) }

// hasDir reports whether a program is named by its path.
func (i *installation) hasDir(name string) bool {
	return strings.Contains(name, "/") || i.host.OS == "windows" && strings.ContainsAny(name, `\:`)
}

// locate returns the file of a program that an entry names, or "" if there is none. inJail means
// that mcp-jail looks for it, which knows more directories than PATH.
func (i *installation) locate(s *start, name string, inJail bool) string {
	rest, isHome := hostfs.CutHome(i.host.OS, name)
	switch dir := i.dir(s); {
	case filepath.IsAbs(name):
	case isHome:
		name = filepath.Join(i.host.Home, rest)
	case i.hasDir(name) && dir == "":
		return name // only the client knows where that is
	case i.hasDir(name):
		name = filepath.Join(dir, name)
	default:
		return findProgram(i.directories(s, inJail), name)
	}
	if !isProgram(name) {
		return ""
	}
	return name
}

// systemDirs are where mcp-jail looks for programs, after PATH.
var systemDirs = []string{"/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"}

// directories returns where a program of an entry is looked for: in the PATH that the entry sets, or
// else in that of this process.
func (i *installation) directories(s *start, inJail bool) []string {
	dirs := i.searchPath()
	if path := s.ownPath(i); path != nil {
		dirs = path
	}
	if inJail && i.host.OS != "windows" {
		dirs = append(slices.Clone(dirs), systemDirs...)
	}
	return dirs
}

// isPath reports whether a variable is PATH. Names of variables have no case on Windows.
func isPath(system, name string) bool {
	return name == "PATH" || system == "windows" && strings.EqualFold(name, "PATH")
}

// ownPath returns the directories of the PATH that the entry sets, or nil.
func (s *start) ownPath(i *installation) []string {
	for _, v := range s.entry.Env {
		if value := s.of.Started(s.entry, []string{v.Value}, i.clients)[0]; isPath(i.host.OS, v.Name) && !v.Unset && value != "" && !s.of.References(value) {
			return hostfs.SplitList(i.host.OS, value)
		}
	}
	return nil
}

func (i *installation) checkStarts() (all []finding) {
	for _, f := range i.files {
		if f.Err != nil {
			all = append(all, finding{Check: "clients", Stops: true, File: f.Path, What: f.Err.Error(), Why: "What " + f.Client.Title + " starts from this file is not known"})
		}
	}
	for _, s := range i.starts {
		for _, f := range i.checkStart(s) {
			f.Check, f.File, f.Line = "clients", s.File, s.Line
			f.Of = []string{fmt.Sprintf("%s (%s, %s, line %d)", s.Server, s.title, i.short(s.File), s.Line)}
			all = append(all, f)
		}
	}
	return join(all)
}

// checkStart says what of an entry points nowhere.
func (i *installation) checkStart(s *start) (all []finding) {
	if s.startsNothing() || s.entry.Elsewhere != "" || s.entry.Left == clients.Ambiguous {
		return nil
	}
	argv := s.of.Started(s.entry, s.entry.Argv(), i.clients)
	if len(argv) > 0 && !s.of.References(argv[0]) {
		all = append(all, i.checkProgram(s, argv[0], false)...)
		if strings.TrimSuffix(filepath.Base(argv[0]), ".exe") == programs.Main && !s.isJailed() {
			all = append(all, finding{Stops: true, status: exit.Usage, role: "in", What: "the line starts mcp-jail, and is not one that it runs", Fix: "write `run`, its flags, `--`, and then the server's command"})
		}
	}
	if s.isJailed() {
		all = append(all, i.checkFlags(s)...)
		if len(s.argv) > 0 && !s.isLine && !s.of.References(s.argv[0]) {
			all = append(all, i.checkProgram(s, s.argv[0], true)...)
		}
	}
	all = append(all, i.checkPlaces(s)...)
	if what, fix := wrapping.FromAnyDir(s.of, s.entry, s.argv); what != "" && len(all) == 0 {
		all = append(all, finding{What: what, Fix: fix})
	}
	return all
}

const startedBy = "started by"

// checkProgram checks the program that the client starts, or that mcp-jail starts for it.
func (i *installation) checkProgram(s *start, name string, inJail bool) []finding {
	if i.locate(s, name, inJail) != "" {
		if f := i.checkJailed(s, name); inJail && f != nil {
			return f
		}
		return i.checkDesktop(s, name, inJail)
	}
	f := finding{Stops: true, role: startedBy, Fix: "install " + filepath.Base(name) + ", or correct its path in the entry"}
	whole := lines.Whole(name, i.host)
	switch info, err := os.Stat(name); {
	case whole != nil:
		f.What = show.Quote(strings.Join(shown.Words(whole), " ")) + " is a whole line in one word, and no program has that name"
		f.Fix = "write " + show.Name(whole[0]) + " as the command, and the other words into its arguments, one by one"
	case filepath.IsAbs(name) && err != nil:
		f.What = i.short(name) + " does not exist"
	case filepath.IsAbs(name) && !info.Mode().IsRegular():
		f.What = i.short(name) + " is not a program"
	case filepath.IsAbs(name):
		f.What, f.Fix = i.short(name)+" cannot be executed", "`"+show.Typed("chmod +x", name)+"`"
	case i.hasDir(name):
		f.What = i.short(filepath.Join(i.dir(s), name)) + " does not exist"
	default:
		f.What, f.Fix = name+" was not found in PATH", "install "+name+", or write its whole path into the entry"
	}
	switch isOurs := s.isJailed() && !inJail; {
	case isOurs && isProgram(i.program.Path):
		f.Fix = "`mcp-jail wrap` puts " + i.short(i.program.Path) + " in its place, and keeps the flags"
	case isOurs:
		f.Fix = "install mcp-jail again, then `mcp-jail wrap`"
	case s.isLine && !inJail && s.verdict.Why == "":
		f.Fix = "`mcp-jail wrap`: in a jail mcp-jail fetches and starts packages itself. Or install " + name
	}
	return []finding{f}
}

// checkJailed returns why mcp-jail would not start a program that is there, such as a shim of a version
// manager that has no version.
func (i *installation) checkJailed(s *start, name string) []finding {
	look := i.host
	if path := s.ownPath(i); path != nil {
		look.Environ = append(slices.Clone(look.Environ), "PATH="+strings.Join(path, string(filepath.ListSeparator)))
	}
	if dir := i.dir(s); dir != "" {
		look.Dir = dir
	}
	var bad *resolve.CommandError
	if err := resolve.CheckProgram(look, name); !errors.As(err, &bad) {
		return nil
	}
	what := bad.Reason
	if !filepath.IsAbs(what) { // it does not name the file that was found
		what = name + " " + what
	}
	return []finding{{Stops: true, role: startedBy, What: what, Fix: cmp.Or(bad.Fix, bad.Hint)}}
}

// checkDesktop checks that a client that is started from the desktop finds a program of PATH, too.
func (i *installation) checkDesktop(s *start, name string, inJail bool) []finding {
	client, _ := s.entry.Reader()
	if client.PathKept || i.hasDir(name) || i.login.Desktop == nil || s.ownPath(i) != nil {
		return nil
	}
	dirs := i.login.Desktop
	if inJail && i.host.OS != "windows" {
		dirs = append(slices.Clone(dirs), systemDirs...)
	}
	if findProgram(dirs, name) != "" {
		return nil
	}
	found := i.locate(s, name, inJail)
	return []finding{{role: startedBy, What: name + " is in PATH of this shell (" + i.short(filepath.Dir(found)) + "), and not in that of your login",
		Why: "A client that is started from the desktop gets the latter, and does not find it", Fix: "write " + found + " into the entry"}}
}

// checkPlaces checks the files and directories that an entry names.
func (i *installation) checkPlaces(s *start) (all []finding) {
	if s.entry.Cwd != "" {
		dir := i.dir(s)
		if info, err := os.Stat(dir); dir != "" && (err != nil || !info.IsDir()) {
			all = append(all, finding{Stops: true, role: "cwd of", What: "the directory " + i.short(dir) + " does not exist", Fix: "correct cwd in the entry"})
		}
	}
	if file := i.file(s, s.entry.EnvFile); file != "" {
		if _, err := os.Stat(file); err != nil {
			all = append(all, finding{role: "envFile of", What: i.short(file) + " does not exist", Why: "The server misses its variables, and some clients do not start it", Fix: "write the file, or correct envFile in the entry"})
		}
	}
	if file := i.file(s, s.script()); file != "" {
		if _, err := os.Stat(file); err != nil {
			all = append(all, finding{Stops: true, role: startedBy, What: "the script " + i.short(file) + " does not exist", Fix: "build the server, or correct the path in the entry"})
		}
	}
	return all
}

// script returns the script that the server's interpreter runs, or "".
func (s *start) script() string {
	if len(s.argv) < 2 || s.isLine {
		return ""
	}
	lang := policy.InterpreterFamily(filepath.Base(s.argv[0]))
	if lang == "" {
		return ""
	}
	return policy.ScriptArgument(lang, s.argv[1:])
}

// file returns the path of a file that an entry names, or "" if only the client knows it.
func (i *installation) file(s *start, name string) string {
	if name == "" {
		return ""
	}
	name = s.of.Started(s.entry, []string{name}, i.clients)[0]
	rest, isHome := hostfs.CutHome(i.host.OS, name)
	switch dir := i.dir(s); {
	case s.of.References(name):
		return ""
	case filepath.IsAbs(name):
		return name
	case isHome:
		return filepath.Join(i.host.Home, rest)
	case dir == "":
		return ""
	default:
		return filepath.Join(dir, name)
	}
}
