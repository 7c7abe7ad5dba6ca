package resolve

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/places"
)

// A Dependency is a path that a command needs in the baseline.
type dependency struct {
	Path   string
	Rule   string
	Search bool // search it for .env files: it contains a user's work, not a release
	Data   bool // nothing in it is started
}

// A Resolver finds what a program needs to start: its canonical file, the
// interpreters in front of it, the installation of a runtime, and the package of a script.
type Resolver struct {
	Paths         *hostfs.LinkResolver
	H             *hostfs.Host
	Dir           string            // where a relative command is looked for
	WorkDir       string            // where the server will be, and read its arguments
	Workspace     string            // the workspace, "" without one
	Tree          string            // the installed package, whose publisher chose its content; "" without one
	MayWrite      func(string) bool // a server could write there: see Reach
	SearchPath    []string          // the directories of PATH, absolute and clean
	NeverWiden    []string          // a directory that holds one of these is never widened to: home, mcp-jail's own
	SensitiveDirs []string          // nor to a directory that holds one of these, or is inside one

	Dependencies  []dependency
	Links         []policy.Link
	Files         []string          // the files that have to be executable, canonical, in the order found
	Loaders       []string          // those of files that run any program on request
	StartedAs     string            // the program that a shim given by its path stands for, "" otherwise
	Shimmed       map[string]string // a directory of shims -> the directory of the real programs
	InPath        map[string]string // see policy.Profile.InPath
	EscapingLinks []policy.Link     // links that a server may write, to places that none may write
	Environments  []string          // the virtual environments of Python that are started, or may be
}

// searchPath returns the directories of PATH, and after them the usual system directories. It
// leaves out relative and empty components: they begin at the current directory, from which no
// server may be started.
func searchPath(h *hostfs.Host) []string {
	dirs := h.SearchPath()
	for _, d := range [...]string{"/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"} {
		if !slices.Contains(dirs, d) {
			dirs = append(dirs, d)
		}
	}
	return dirs
}

// locate finds the file of a command as execvp does, and resolves shims of version
// managers. The returned path is not canonical.
func (c *Resolver) locate(command string) (string, error) {
	switch {
	case command == "":
		return "", &Error{Command: `""`, Reason: "the command is empty"}
	case strings.Contains(command, "/"):
		return c.locatePath(command)
	}
	failed := &Error{Command: command, Reason: notFound, Path: c.SearchPath, Hint: shorterPath}
	if strings.ContainsRune(command, ' ') {
		failed.Hint, failed.Fix = wholeLine, standApart
	}
	for i, dir := range c.SearchPath {
		p := path.Join(dir, command)
		if at, err := c.Paths.Resolve(p); err == nil && !at.Exists() {
			continue // also where the directory may not be searched, as execvp does
		}
		tool, standIn := c.Paths.StandIn(p)
		reason := c.executable(p)
		if standIn && tool == "" { // one after it may be a program
			reason = hostfs.NoTools
		}
		if reason != "" {
			if failed.Reason == notFound { // the first one is what the user means
				failed.Reason, failed.Hint, failed.Fix = "no program was found ("+p+" "+reason+")", "", makeExecutable(p, reason)
			}
			continue
		}
		real, err := c.standsFor(p, c.SearchPath[i+1:])
		if err != nil {
			return "", err
		}
		if path.Dir(real) != dir && !standIn {
			c.Shimmed[dir] = path.Dir(real)
		}
		c.InPath[command] = real
		return real, nil
	}
	return "", failed
}

func (c *Resolver) locatePath(command string) (string, error) {
	p := command
	switch {
	case strings.HasPrefix(p, "~/"):
		p = path.Join(c.H.Home, p[2:])
	case !strings.HasPrefix(p, "/"):
		p = path.Join(c.Dir, p)
	}
	reason := c.executable(p)
	if reason == "" {
		return c.standsFor(p, nil)
	}
	err := &Error{Command: command, Reason: reason, Fix: makeExecutable(p, reason)}
	if !strings.HasPrefix(command, "/") {
		err.Hint = "that is " + p
	}
	if first, _, several := strings.Cut(command, " "); several && reason == notFound {
		if _, missing := c.locate(first); missing == nil {
			err.Hint, err.Fix = wholeLine, standApart
		}
	}
	return "", err
}

// standsFor returns the program that starts in place of a shim, which a version manager puts into PATH, and
// p for every other program: the shim itself would need the manager's whole directory. The error is an
// [Error] for a shim without an installed program. after are the directories of PATH after the shim's.
//
// A stand-in of macOS for a developer tool is resolved, too. Programs that are started later may start
// it by its path, so it is among the files that have to be executable.
func (c *Resolver) standsFor(p string, after []string) (string, error) {
	if tool, ok := c.Paths.StandIn(p); ok {
		if tool == "" {
			return "", &Error{Command: p, Reason: "it " + hostfs.NoTools}
		}
		c.Files = append(c.Files, c.Paths.Canonical(p))
		return tool, nil
	}
	real, shim := c.Paths.Unshim(p, c.WorkDir, after)
	switch {
	case !shim:
		return p, nil
	case real == "":
		return "", &Error{Command: path.Base(p), Reason: p + " is a shim, and no installed version that it could start was found", Hint: "write the absolute path of the program"}
	}
	return real, nil
}

// executable returns why a path cannot be started, or "".
func (c *Resolver) executable(p string) string {
	at, err := c.Paths.Resolve(p)
	switch {
	case err != nil:
		return err.Error()
	case at.Reason != "":
		return at.Reason
	case !at.Exists():
		return notFound
	case at.Info.Mode.IsDir():
		return "is a directory"
	case !at.Info.Mode.IsRegular():
		return "is not a regular file"
	case at.Info.Mode.Perm()&0o111 == 0:
		return notExecutable + " (mode " + at.Info.Mode.Perm().String() + ")"
	}
	return ""
}

// isServerWritable reports whether a server, or the author of the repository or of the
// installed package, may have written the file at a canonical path. Its content must not widen
// the grants of the next start.
func (c *Resolver) isServerWritable(p string) bool {
	return c.Tree != "" && policy.Within(p, c.Tree) || c.Workspace != "" && policy.Within(p, c.Workspace) || c.MayWrite != nil && c.MayWrite(p)
}

// escapingLink returns the link by which a path left the places that a server may write, or
// nil. The baseline does not follow it.
func (c *Resolver) escapingLink(at hostfs.ResolvedPath) *policy.Link {
	if c.isServerWritable(at.Path) || places.InBaseline(c.H.OS, at.Path) {
		return nil
	}
	for i, l := range at.Links {
		if c.isServerWritable(l.Path) {
			return &at.Links[i]
		}
	}
	return nil
}

// escapesWorkspace reports whether there is an escapingLink, and records it for a warning.
func (c *Resolver) escapesWorkspace(at hostfs.ResolvedPath) bool {
	l := c.escapingLink(at)
	if l != nil {
		c.EscapingLinks = append(c.EscapingLinks, policy.Link{Path: l.Path, Target: at.Path})
	}
	return l != nil
}

// addDependency adds a path, unless a link that a server may write leads there. With search it is searched
// for .env files.
func (c *Resolver) addDependency(p, rule string, search bool) {
	if at, err := c.Paths.Resolve(p); err == nil && c.escapesWorkspace(at) {
		return
	}
	c.Dependencies = append(c.Dependencies, dependency{Path: p, Rule: rule, Search: search})
}

// isGuarded reports whether a dependency must not be widened to a directory: it is "/" or one
// that many programs share; it is or contains the home directory, a directory of mcp-jail or a sensitive
// path; or it lies inside a sensitive path.
func (c *Resolver) isGuarded(dir string) bool {
	shared, _ := policy.ProgramWords("shared", c.H.OS)
	return dir == "/" || slices.Contains(shared, dir) || c.H.OS == "darwin" && path.Dir(dir) == "/Volumes" ||
		slices.ContainsFunc(c.NeverWiden, func(g string) bool { return policy.Within(g, dir) }) ||
		slices.ContainsFunc(c.SensitiveDirs, func(g string) bool { return policy.Within(g, dir) || policy.Within(dir, g) })
}

// Error reports why a server's program cannot be started, before anything runs:
// stage "exec" of a failure.
type Error struct {
	Command string
	Reason  string
	Hint    string
	Fix     string   // advice; "" if the program must be installed or its name corrected
	Path    []string // the directories that were searched; nil for a path
	// Refused reports that there is something of that name, which mcp-jail starts on no Windows.
	Refused bool
}

func (e *Error) Error() string {
	msg := fmt.Sprintf("%s: %s", policy.Abbreviate(show.Program(e.Command)), e.Reason)
	if len(e.Path) > 0 {
		msg += " in PATH (" + someOf(e.Path) + ")"
	}
	for _, advice := range []string{e.Hint, e.Fix} {
		if advice != "" {
			msg += "; " + advice
		}
	}
	return msg
}

// someOf returns the first directories of a PATH, and how many more there are: a message is cut where it is
// too long, and the advice is at its end.
func someOf(dirs []string) string {
	const most = 6
	separator := ":"
	if strings.Contains(dirs[0], `\`) { // of Windows
		separator = ";"
	}
	text := strings.Join(dirs[:min(len(dirs), most)], separator)
	if more := len(dirs) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

const (
	notFound      = "was not found"
	notExecutable = "is not executable"
	shorterPath   = "clients often start servers with a shorter PATH than a shell has: write the absolute path of the program"
	wholeLine     = "this is a whole line in one word"
	standApart    = "write the program alone, and each argument as a word after it (in a client's file in args, in a table in arguments = [...])"
)

// makeExecutable returns advice for a file p that is not executable, and "" for any other reason.
// The advice contains no text of the file: a server may have written it, for a user or an agent to
// run.
func makeExecutable(p, reason string) string {
	if !strings.HasPrefix(reason, notExecutable) {
		return ""
	}
	return "make it executable: " + show.Typed("chmod +x", p) + "; or put its interpreter in front of it in this command line"
}

func (b *resolver) commandResolver(out *policy.Profile) *Resolver {
	work := cmp.Or(startDirectory(b, out), out.Workspace, b.h.Dir)
	dir := work
	if b.p.FromCommandLine {
		dir = b.h.Dir // as a shell reads it
	}
	writes := func(p string) bool {
		_, ok := b.writers.writerOf(p, policy.Write)
		return ok
	}
	dirs := searchPath(b.h)
	if bin := b.p.Packages.Bin; bin != "" {
		dirs = append(dirs, bin)
	}
	return &Resolver{MayWrite: writes, Paths: b.paths, H: b.h, Dir: dir, WorkDir: work, Workspace: out.Workspace, Tree: b.p.Packages.Tree, SearchPath: dirs, NeverWiden: b.neverWiden, SensitiveDirs: b.places.SensitiveDirs, Shimmed: map[string]string{}, InPath: map[string]string{}}
}

// FindProgram returns the real path of the program that a start runs for a command line, or the *[CommandError]
// with which the start ends if it, or its interpreter, is not there.
func FindProgram(host hostfs.Host, argv ...string) (string, error) {
	if host.OS == "windows" {
		out := &policy.Profile{Dir: host.Dir}
		err := windows{&host}.program(&policy.Policy{Command: argv[0], Arguments: argv[1:]}, out)
		return out.Program, err
	}
	return lineResolver(&host).Start(argv[0], nil)
}

func lineResolver(host *hostfs.Host) *Resolver {
	return &Resolver{Paths: hostfs.NewLinkResolver(host), H: host, Dir: host.Dir, WorkDir: host.Dir, SearchPath: searchPath(host), Shimmed: map[string]string{}, InPath: map[string]string{}}
}

// FindInPath returns what Profile.InPath is for a start of a command line, as far as its policy does not change that.
func FindInPath(host hostfs.Host, argv []string) map[string]string {
	if host.OS == "windows" {
		return nil
	}
	c := lineResolver(&host)
	_, _ = c.Start(argv[0], argv[1:]) // the start reports the error
	return c.InPath
}

func (b *resolver) listPrograms(c *Resolver, out *policy.Profile) {
	if b.p.Commands == nil {
		return
	}
	own := slices.Clone(c.Files)
	for _, r := range b.p.Commands {
		if len(r.Args) > 0 || r.Envs != nil {
			out.CommandArgs = append(out.CommandArgs, r.Name)
		}
		file, err := c.Start(r.Name, nil)
		if err != nil {
			if program, args, ok := strings.Cut(r.Name, " "); ok {
				b.warnings.warn("missing-command", r.Where, "the command rule %q allows nothing: no program has that name; call it %s, with args = %s", r.Name, show.Key(program), show.List(append(strings.Fields(args), "**")))
				continue
			}
			b.warnings.warn("missing-command", r.Where, "the command rule %q allows nothing: %s", r.Name, err)
			continue
		}
		command := policy.Command{Name: r.Name, Where: r.Where, Args: r.Args, Envs: r.Envs, Starts: c.starts(r, file)}
		if command.Starts == nil {
			b.warnings.warn("command-interpreter", r.Where, "the command rule %q allows nothing beside rules with args or envs: the interpreter of %s is a script itself, so that its arguments cannot be told from those of the interpreter", r.Name, file)
		}
		out.Commands = append(out.Commands, command)
	}
	sort.Strings(out.CommandArgs)
	out.CommandArgs = slices.Compact(out.CommandArgs)
	out.Programs = slices.Compact(slices.Sorted(slices.Values(c.Files)))
	out.Loaders = slices.Compact(slices.Sorted(slices.Values(c.Loaders)))
	if out.CommandArgs == nil {
		out.Commands = nil // the list of programs says it all
		return
	}
	out.OwnPrograms = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(own))), func(f string) bool { return slices.Contains(out.Loaders, f) })
	b.warnWritable(out)
}

func (b *resolver) warnWritable(out *policy.Profile) {
	for _, command := range out.Commands {
		for _, s := range command.Starts {
			file := cmp.Or(s.Script, s.File)
			if e, ok := b.entries.Find(file); ok && e.Rights&policy.Write != 0 && (command.Args != nil || command.Envs != nil) {
				b.warnings.warn("writable-command", command.Where, "the server may write %s, so the args and envs of the command rule %q hold only until it does", file, command.Name)
				break
			}
		}
	}
}
