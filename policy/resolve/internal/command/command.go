package command

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/places"
)

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
	if e.Hint != "" {
		msg += "; " + e.Hint
	}
	if e.Fix != "" {
		msg += "; " + e.Fix
	}
	return msg
}

// someOf returns the first directories of a PATH, and how many more there are: a message is cut where it is
// too long, and the advice is at its end.
func someOf(dirs []string) string {
	const most = 200
	n, long := 1, len(dirs[0])
	for n < len(dirs) && long+1+len(dirs[n]) <= most {
		long += 1 + len(dirs[n])
		n++
	}
	separator := ":"
	if strings.Contains(dirs[0], `\`) { // of Windows
		separator = ";"
	}
	text := strings.Join(dirs[:n], separator)
	if more := len(dirs) - n; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// A Dependency is a path that a command needs in the baseline.
type Dependency struct {
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

	Dependencies  []Dependency
	Links         []policy.Link
	Files         []string          // the files that have to be executable, canonical, in the order found
	Loaders       []string          // those of files that run any program on request
	StartedAs     string            // the program that a shim given by its path stands for, "" otherwise
	Shimmed       map[string]string // a directory of shims -> the directory of the real programs
	Modules       []string          // the node_modules of scripts, which may not exist
	EscapingLinks []policy.Link     // links that a server may write, to places that none may write
	Environments  []string          // the virtual environments of Python that are started, or may be
}

// SearchPath returns the directories of PATH, and after them the usual system directories. It
// leaves out relative and empty components: they begin at the current directory, from which no
// server may be started.
func SearchPath(h *hostfs.Host) []string {
	dirs := h.SearchPath()
	for _, d := range [...]string{"/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"} {
		if !slices.Contains(dirs, d) {
			dirs = append(dirs, d)
		}
	}
	return dirs
}

// Locate finds the file of a command as execvp does, and resolves shims of version
// managers. The returned path is not canonical.
func (c *Resolver) Locate(command string) (string, error) {
	if command == "" {
		return "", &Error{Command: `""`, Reason: "the command is empty"}
	}
	if strings.Contains(command, "/") {
		return c.locatePath(command)
	}
	found, fix := "", ""
	for i, dir := range c.SearchPath {
		p := path.Join(dir, command)
		if at, err := c.Paths.Resolve(p); err == nil && !at.Exists() {
			continue // also where the directory may not be searched, as execvp does
		}
		reason := c.Executable(p)
		if reason != "" {
			if found == "" { // the first one is what the user means
				found, fix = p+" "+reason, makeExecutable(p, reason)
			}
			continue
		}
		tool, standIn := c.Paths.StandIn(p)
		if standIn && tool == "" { // one after it may be a program
			if found == "" {
				found = p + " " + hostfs.NoTools
			}
			continue
		}
		real, err := c.unshim(p, c.SearchPath[i+1:])
		if err != nil {
			return "", err
		}
		if real == "" {
			real = p
		} else if path.Dir(real) != dir && !standIn {
			c.Shimmed[dir] = path.Dir(real)
		}
		return real, nil
	}
	err := &Error{Command: command, Reason: notFound, Path: c.SearchPath, Hint: "clients often start servers with a shorter PATH than a shell has: write the absolute path of the program"}
	if strings.ContainsRune(command, ' ') {
		err.Hint, err.Fix = wholeLine, standApart
	}
	if found != "" {
		err.Reason = "no program was found (" + found + ")"
		err.Hint, err.Fix = "", fix
	}
	return "", err
}

func (c *Resolver) locatePath(command string) (string, error) {
	p := command
	switch {
	case strings.HasPrefix(p, "~/"):
		p = path.Join(c.H.Home, p[2:])
	case !strings.HasPrefix(p, "/"):
		p = path.Join(c.Dir, p)
	}
	if reason := c.Executable(p); reason != "" {
		err := &Error{Command: command, Reason: reason, Fix: makeExecutable(p, reason)}
		if !strings.HasPrefix(command, "/") {
			err.Hint = "that is " + p
		}
		if reason == notFound && c.startsWithProgram(command, p) {
			err.Hint, err.Fix = wholeLine, standApart
		}
		return "", err
	}
	if real, err := c.unshim(p, nil); err != nil || real != "" {
		return real, err
	}
	return p, nil
}

// makeExecutable returns advice for a file p that is not executable, and "" for any other reason.
// The advice contains no text of the file: a server may have written it, for a user or an agent to
// run.
func makeExecutable(p, reason string) string {
	if !strings.HasPrefix(reason, notExecutable) {
		return ""
	}
	return "make it executable: " + show.Typed("chmod +x", p) + "; or put its interpreter in front of it in this command line"
}

const (
	notFound      = "was not found"
	notExecutable = "is not executable"
	wholeLine     = "this is a whole line in one word"
	standApart    = "write the program alone, and each argument as a word after it (in a client's file in args, in a table in arguments = [...])"
)

// startsWithProgram reports whether a missing program, which would be at the path p, is one up to
// one of its spaces.
func (c *Resolver) startsWithProgram(command, p string) bool {
	first, _, several := strings.Cut(command, " ")
	if several && !strings.Contains(first, "/") {
		return slices.ContainsFunc(c.SearchPath, func(dir string) bool { return c.Executable(path.Join(dir, first)) == "" })
	}
	for i, r := range p {
		if r == ' ' && c.Executable(p[:i]) == "" {
			return true
		}
	}
	return false
}

// Executable returns why a path cannot be started, or "".
func (c *Resolver) Executable(p string) string {
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

// MaxChain bounds interpreters of interpreters. The kernel allows five.
const MaxChain = 5

// Start resolves a command with its arguments and returns the canonical file.
func (c *Resolver) Start(command string, args []string) (string, error) {
	found, err := c.Locate(command)
	if err != nil {
		return "", err
	}
	if strings.HasPrefix(command, "/") && found != command {
		c.StartedAs = found
	}
	return c.resolveProgram(command, found, args, 0, false)
}

// resolveProgram collects everything that a file needs to run. chosen reports that the
// server named the file, in the #! line of its own script.
func (c *Resolver) resolveProgram(command, found string, args []string, depth int, chosen bool) (string, error) {
	if depth > MaxChain {
		return "", &Error{Command: command, Reason: "the interpreter of its #! line is a script whose interpreter is a script, and so on"}
	}
	at, err := c.Paths.Resolve(found)
	if err != nil {
		return "", &Error{Command: command, Reason: err.Error()}
	}
	head, err := c.H.ReadHead(at.Path, 4096)
	if err != nil {
		return "", &Error{Command: command, Reason: "cannot be read: " + err.Error()}
	}
	line, script := bytes.CutPrefix(head, []byte("#!"))
	if script {
		switch {
		// A script that the server chose must not bring the package around it into the jail.
		case c.escapingLink(at) != nil:
			return "", &Error{Command: command, Reason: "is a symbolic link of the workspace, or of another place that a server may write to, to a script outside of it", Hint: "name that script itself: " + at.Path}
		case chosen && !c.isServerWritable(at.Path) && !places.InBaseline(c.H.OS, at.Path):
			return "", &Error{Command: command, Reason: "the #! line of a script that the server may write names another script, " + at.Path, Hint: "name the interpreter in the command"}
		}
	}
	c.Links = append(c.Links, at.Links...)
	c.Files = append(c.Files, at.Path)
	c.AddDependency(at.Path, "the program "+path.Base(at.Path), false)
	c.addVirtualEnvironment(found, at, chosen)
	c.addInstallation(at.Path, chosen || c.escapingLink(at) != nil)

	switch {
	case script:
		line, _, _ = bytes.Cut(line, []byte("\n"))
		if bytes.HasSuffix(line, []byte("\r")) && !bytes.Contains(line, []byte(" -S")) { // env -S takes a CR for a blank
			return "", &Error{Command: command, Reason: "its #! line ends in CR LF, as on Windows, and no program has that name", Fix: "end its lines in LF: " + show.Typed(`sed -i 's/\r$//'`, at.Path)}
		}
		return at.Path, c.resolveInterpreter(command, at.Path, strings.TrimSpace(string(line)), depth)
	case len(head) == 0:
		return "", &Error{Command: command, Reason: "is an empty file"}
	case c.H.OS == "linux" && !bytes.HasPrefix(head, []byte("\x7fELF")):
		// A shell would interpret such a file itself; execve returns ENOEXEC. A binfmt_misc
		// handler could start a file that is not text; whether one does is not known here.
		if isText(head) {
			return "", &Error{Command: command, Reason: "is neither a binary nor a script with a #! line", Hint: "add one, or name the interpreter as the command"}
		}
	}
	if loader := Loader(head); loader != "" {
		// The server may have written the file that names the loader.
		if l, err := c.Paths.Resolve(loader); err == nil && c.Executable(l.Path) == "" && (places.IsSystemPath(l.Path) || !c.isServerWritable(at.Path)) {
			c.Files = append(c.Files, l.Path)
			c.Loaders = append(c.Loaders, l.Path)
			c.Links = append(c.Links, l.Links...)
			c.AddDependency(l.Path, "the loader of "+path.Base(at.Path), false)
		}
	}
	c.resolveArguments(path.Base(at.Path), found, args, depth)
	return at.Path, nil
}

func isText(head []byte) bool {
	for _, b := range head {
		if b < '\t' || b > '\r' && b < ' ' {
			return false
		}
	}
	return true
}

func (c *Resolver) resolveInterpreter(command, script, line string, depth int) error {
	words := strings.Fields(line)
	if len(words) == 0 {
		return &Error{Command: command, Reason: "its #! line names no interpreter"}
	}
	if !strings.HasPrefix(words[0], "/") {
		return &Error{Command: command, Reason: "its #! line names a relative interpreter: " + policy.Abbreviate(words[0])}
	}
	if reason := c.Executable(words[0]); reason != "" {
		return &Error{Command: command, Reason: fmt.Sprintf("the interpreter %s of its #! line %s", policy.Abbreviate(words[0]), reason)}
	}
	found, err := c.unshim(words[0], c.SearchPath)
	if err != nil {
		return err
	}
	if found == "" {
		found = words[0]
	}
	// A server that can write the script has chosen the interpreter.
	name, chosen := path.Base(words[0]), c.isServerWritable(script)
	if name == "env" {
		if _, err := c.resolveProgram(command, found, nil, depth+1, chosen); err != nil {
			return err
		}
		if name = EnvProgram(words[1:]); name == "" {
			return nil
		}
		chosen = chosen && strings.Contains(name, "/") // PATH is the user's
		if found, err = c.Locate(name); err != nil {
			if ce, ok := err.(*Error); ok {
				ce.Command = command
				ce.Reason = fmt.Sprintf("the interpreter %q of its #! line %s", name, ce.Reason)
			}
			return err
		}
	}
	c.addScriptPackage(path.Base(found), script)
	_, err = c.resolveProgram(command, found, nil, depth+1, chosen)
	return err
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

func (c *Resolver) AddDependency(p, rule string, walk bool) {
	if at, err := c.Paths.Resolve(p); err == nil && c.escapesWorkspace(at) {
		return
	}
	c.Dependencies = append(c.Dependencies, Dependency{Path: p, Rule: rule, Search: walk})
}
