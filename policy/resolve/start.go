package resolve

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/wrapper"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/places"
)

// maxChain bounds interpreters of interpreters. The kernel allows five.
const maxChain = 5

// Start resolves a command with its arguments and returns the canonical file.
func (c *Resolver) Start(command string, args []string) (string, error) {
	found, err := c.locate(command)
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
	failed := func(reason, hint string) (string, error) {
		return "", &Error{Command: command, Reason: reason, Hint: hint}
	}
	if depth > maxChain {
		return failed("the interpreter of its #! line is a script whose interpreter is a script, and so on", "")
	}
	at, err := c.Paths.Resolve(found)
	if err != nil {
		return failed(err.Error(), "")
	}
	head, err := c.H.ReadHead(at.Path, 4096)
	if err != nil {
		return failed("cannot be read: "+err.Error(), "")
	}
	line, script := shebang(head)
	escapes := c.escapingLink(at) != nil
	switch {
	// A script that the server chose must not bring the package around it into the jail.
	case script && escapes:
		return failed("is a symbolic link of the project folder, or of another place that a server may write to, to a script outside it", "name that script itself: "+at.Path)
	case script && chosen && !c.isServerWritable(at.Path) && !places.InBaseline(c.H.OS, at.Path):
		return failed("the #! line of a script that the server may write names another script, "+at.Path, "name the interpreter in the command")
	}
	c.Links = append(c.Links, at.Links...)
	c.Files = append(c.Files, at.Path)
	c.addDependency(at.Path, "the program "+path.Base(at.Path), false)
	c.addVirtualEnvironment(found, at, chosen)
	c.addInstallation(at.Path, chosen || escapes)
	switch {
	case script:
		return at.Path, c.resolveInterpreter(command, at.Path, line, depth)
	case c.H.OS == "linux" && !bytes.HasPrefix(head, []byte("\x7fELF")) && isText(head):
		// A shell would interpret such a file itself; execve returns ENOEXEC. A binfmt_misc
		// handler could start a file that is not text; whether one does is not known here.
		return failed("is neither a binary nor a script with a #! line", "add one, or name the interpreter as the command")
	}
	c.addLoader(at.Path, head)
	c.resolveArguments(path.Base(at.Path), found, args, depth)
	return at.Path, nil
}

// shebang returns what the #! line of a file has after that, or "".
func (c *Resolver) shebang(file string) string {
	head, _ := c.H.ReadHead(file, 4096)
	line, _ := shebang(head)
	return line
}

func shebang(head []byte) (line string, ok bool) {
	first, _, _ := bytes.Cut(head, []byte("\n"))
	rest, ok := bytes.CutPrefix(first, []byte("#!"))
	if !ok {
		return "", false
	}
	return string(rest), true
}

func isText(head []byte) bool {
	return !bytes.ContainsFunc(head, func(r rune) bool { return r < '\t' || r > '\r' && r < ' ' })
}

// addLoader adds the loader of a program. The server may have written the file that names it.
func (c *Resolver) addLoader(file string, head []byte) {
	name := loader(head)
	l, err := c.Paths.Resolve(name)
	if name == "" || err != nil || c.executable(l.Path) != "" || !places.IsSystemPath(l.Path) && c.isServerWritable(file) {
		return
	}
	c.Files = append(c.Files, l.Path)
	c.Loaders = append(c.Loaders, l.Path)
	c.Links = append(c.Links, l.Links...)
	c.addDependency(l.Path, "the loader of "+path.Base(file), false)
}

// resolveInterpreter is resolveProgram for what the #! line of a script names.
func (c *Resolver) resolveInterpreter(command, script, line string, depth int) error {
	words := strings.Fields(line)
	switch {
	case strings.HasSuffix(line, "\r") && !strings.Contains(line, " -S"): // env -S takes a CR for a blank
		return &Error{Command: command, Reason: "its #! line ends in CR LF, as on Windows, and no program has that name", Fix: "end its lines in LF: " + show.Typed(`sed -i 's/\r$//'`, script)}
	case len(words) == 0:
		return &Error{Command: command, Reason: "its #! line names no interpreter"}
	case !strings.HasPrefix(words[0], "/"):
		return &Error{Command: command, Reason: "its #! line names a relative interpreter: " + policy.Abbreviate(words[0])}
	}
	if reason := c.executable(words[0]); reason != "" {
		return &Error{Command: command, Reason: fmt.Sprintf("the interpreter %s of its #! line %s", policy.Abbreviate(words[0]), reason)}
	}
	found, err := c.standsFor(words[0], c.SearchPath)
	if err != nil {
		return err
	}
	// A server that can write the script has chosen the interpreter.
	name, chosen := path.Base(words[0]), c.isServerWritable(script)
	if name == "env" {
		if _, err := c.resolveProgram(command, found, nil, depth+1, chosen); err != nil {
			return err
		}
		if name = envProgram(words[1:]); name == "" {
			return nil
		}
		chosen = chosen && strings.Contains(name, "/") // PATH is the user's
		if found, err = c.locate(name); err != nil {
			if ce, ok := err.(*Error); ok {
				ce.Command = command
				ce.Reason = fmt.Sprintf("the interpreter %q of its #! line %s", name, ce.Reason)
			}
			return err
		}
	}
	c.addPackage(path.Base(found), script)
	_, err = c.resolveProgram(command, found, nil, depth+1, chosen)
	return err
}

// resolveArguments looks for what the arguments of a program name: the script of an interpreter, the
// program that a wrapper such as timeout starts, the project of a launcher.
func (c *Resolver) resolveArguments(name, found string, args []string, depth int) {
	options, launcher := policy.ProgramWords("project", name)
	// A shim or link may hide the real name: /opt/x/bin/python -> /usr/bin/pypy.
	lang := policy.InterpreterFamily(name)
	if lang == "" {
		lang = policy.InterpreterFamily(path.Base(found))
	}
	switch {
	case wrapper.Is(name):
		c.resolveWrapped(name, args, depth)
	case launcher:
		c.addProject(name, args, options)
	case lang != "" || policy.IsShell(name):
		c.addScript(lang, name, args)
	}
}

// resolveWrapped collects what the program needs that env, timeout or the like starts.
func (c *Resolver) resolveWrapped(name string, args []string, depth int) {
	w, err := wrapper.Parse(name, append([]string{name}, args...))
	if err != nil || len(w.Inner) == 0 {
		return
	}
	if w.Dir != "" {
		defer func(dir string) { c.WorkDir = dir }(c.WorkDir)
		if c.addDirectory(w.Dir, "the directory that env starts the server in"); path.IsAbs(w.Dir) {
			c.WorkDir = path.Clean(w.Dir)
		} else {
			c.WorkDir = path.Join(c.WorkDir, w.Dir)
		}
	}
	if file, err := c.locate(w.Inner[0]); err == nil {
		_, _ = c.resolveProgram(w.Inner[0], file, w.Inner[1:], depth+1, false) // the wrapper reports a missing program
	}
}

// addToolScript adds the script that the user's arguments name for an installed package that is itself
// an interpreter, such as tsx. args are those of the program that starts the package.
func (c *Resolver) addToolScript(args []string) {
	i := slices.IndexFunc(args, func(a string) bool { return policy.Within(a, c.Tree) })
	if i < 0 {
		return
	}
	in := args[i][strings.LastIndex(args[i], "/node_modules/")+1:]
	name, _, _ := strings.Cut(strings.TrimPrefix(in, "node_modules/"), "/")
	if lang := policy.InterpreterFamily(name); lang != "" {
		c.addScript(lang, lang, args[i+1:])
	}
}

// starts returns the forms in which the kernel starts the file of a rule. A rule with args or
// envs is about argv[0] too: a binary such as busybox is many programs, and argv[0] chooses one.
func (c *Resolver) starts(r policy.CommandRule, file string) (all []policy.Start) {
	line := strings.TrimSpace(c.shebang(file))
	if line == "" {
		s := policy.Start{File: file}
		if len(r.Args) > 0 || r.Envs != nil {
			s.Name, s.Paths = path.Base(r.Name), c.argvPaths(r.Name, file)
		}
		return []policy.Start{s}
	}
	add := func(name string, lead []string) {
		found, err := c.locate(name)
		if err != nil {
			return
		}
		real := c.Paths.Canonical(found)
		if c.shebang(real) == "" {
			all = append(all, policy.Start{File: real, Name: path.Base(name), Paths: c.argvPaths(name, real), Lead: lead, Script: file})
		}
	}
	end := strings.IndexAny(line+" ", " \t")
	interpreter, rest := line[:end], strings.TrimSpace(line[end:])
	var lead []string
	if rest != "" {
		lead = []string{rest} // the kernel does not cut it into words
	}
	add(interpreter, lead)
	words := strings.Fields(rest)
	if i := slices.Index(words, envProgram(words)); i >= 0 && path.Base(interpreter) == "env" {
		add(words[i], words[i+1:])
	}
	return all
}

// argvPaths returns the absolute paths that argv[0] may be for a program that is called name: name
// itself, the file if it has the same base, and the paths by which PATH finds the file. It leaves
// out directories of PATH to which a server may write.
func (c *Resolver) argvPaths(name, file string) (paths []string) {
	if strings.HasPrefix(name, "/") {
		paths = []string{name}
	}
	base := path.Base(name)
	for _, dir := range c.SearchPath {
		p := path.Join(dir, base)
		if at, err := c.Paths.Resolve(p); err == nil && at.Path == file && !c.MayWrite(dir) {
			paths = append(paths, p)
		}
	}
	if path.Base(file) == base {
		paths = append(paths, file)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// envProgram returns the program that env(1) starts, or "" if its options are not known.
func envProgram(words []string) string {
	if len(words) > 0 {
		for _, option := range [...]string{"-S", "-iS", "-vS", "--split-string="} {
			if rest, ok := strings.CutPrefix(words[0], option); ok {
				words = append(strings.Fields(rest), words[1:]...)
				break
			}
		}
	}
	line, err := wrapper.Parse("env", append([]string{"env"}, words...))
	if err != nil || len(line.Inner) == 0 {
		return ""
	}
	return line.Inner[0]
}

// loader returns PT_INTERP of a little-endian 64-bit ELF file from its first bytes.
// The kernel opens the loader for execution too, so a list of programs without it starts
// nothing.
func loader(head []byte) string {
	if len(head) < 64 || string(head[:6]) != "\x7fELF\x02\x01" {
		return ""
	}
	little, size := binary.LittleEndian, uint64(len(head))
	const header = 56 // of a program header
	at, step, count := little.Uint64(head[32:]), uint64(little.Uint16(head[54:])), little.Uint16(head[56:])
	for ; count > 0 && step >= header && at <= size-header; count-- {
		h := head[at : at+header]
		if at += step; little.Uint32(h) != 3 { // PT_INTERP
			continue
		}
		from, long := little.Uint64(h[8:]), little.Uint64(h[32:])
		if from > size || long > size-from {
			return ""
		}
		name := strings.TrimRight(string(head[from:from+long]), "\x00")
		if !strings.HasPrefix(name, "/") || strings.ContainsRune(name, 0) {
			return ""
		}
		return name
	}
	return ""
}
