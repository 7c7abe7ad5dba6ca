package resolve

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

func (b *resolver) commandResolver(out *policy.Profile) *commandResolver {
	work := cmp.Or(out.Workspace, b.h.Dir)
	dir := work
	if b.p.FromCommandLine {
		dir = b.h.Dir // as a shell reads it
	}
	writes := func(p string) bool {
		_, ok := b.writerOf(p, policy.Write)
		return ok
	}
	dirs := searchPath(b.h)
	if bin := b.p.Packages.Bin; bin != "" {
		dirs = append(dirs, bin)
	}
	return &commandResolver{mayWrite: writes, paths: b.paths, h: b.h, dir: dir, workDir: work, workspace: out.Workspace, tree: b.p.Packages.Tree, searchPath: dirs, neverWiden: b.neverWiden, sensitiveDirs: b.sensitiveDirs, shimmed: map[string]string{}}
}

// listPrograms computes Profile.Programs (docs/policy.md "Command rules"): the programs of
// the rules and those of the server itself.
func (b *resolver) listPrograms(c *commandResolver, out *policy.Profile) {
	if b.p.Commands == nil {
		return
	}
	own := slices.Clone(c.files)
	for _, r := range b.p.Commands {
		if len(r.Args) > 0 || r.Envs != nil {
			out.CommandArgs = append(out.CommandArgs, r.Name)
		}
		file, err := c.start(r.Name, nil)
		if err != nil {
			if program, args, ok := strings.Cut(r.Name, " "); ok {
				b.warn("missing-command", r.Where, "the command rule %q allows nothing: no program has that name; call it %s, with args = %s", r.Name, show.Key(program), show.List(append(strings.Fields(args), "**")))
				continue
			}
			b.warn("missing-command", r.Where, "the command rule %q allows nothing: %s", r.Name, err)
			continue
		}
		command := policy.Command{Name: r.Name, Where: r.Where, Args: r.Args, Envs: r.Envs, OnlyEnvs: r.Envs != nil, Starts: c.starts(r, file)}
		if command.Starts == nil {
			b.warn("command-interpreter", r.Where, "the command rule %q allows nothing beside rules with args or envs: the interpreter of %s is a script itself, so that its arguments cannot be told from those of the interpreter", r.Name, file)
		}
		out.Commands = append(out.Commands, command)
	}
	sort.Strings(out.CommandArgs)
	out.CommandArgs = slices.Compact(out.CommandArgs)
	out.Programs = slices.Compact(slices.Sorted(slices.Values(c.files)))
	out.Loaders = slices.Compact(slices.Sorted(slices.Values(c.loaders)))
	if out.CommandArgs == nil {
		out.Commands = nil // the list of programs says it all
		return
	}
	out.OwnPrograms = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(own))), func(f string) bool { return slices.Contains(out.Loaders, f) })
	b.warnWritable(out)
}

// warnWritable warns of programs with arguments that the server can replace.
func (b *resolver) warnWritable(out *policy.Profile) {
	for _, command := range out.Commands {
		for _, s := range command.Starts {
			file := cmp.Or(s.Script, s.File)
			if e, ok := b.entryFor(file); ok && e.Rights&policy.Write != 0 && (command.Args != nil || command.OnlyEnvs) {
				b.warn("writable-command", command.Where, "the server may write %s, so the args and envs of the command rule %q hold only until it does", file, command.Name)
				break
			}
		}
	}
}

// starts returns the forms in which the kernel starts the file of a rule. A rule with args or
// envs is about argv[0] too: a binary such as busybox is many programs, and argv[0] chooses one.
func (c *commandResolver) starts(r policy.CommandRule, file string) []policy.Start {
	head, _ := c.h.ReadHead(file, 4096)
	line, script := bytes.CutPrefix(head, []byte("#!"))
	if !script {
		s := policy.Start{File: file}
		if len(r.Args) > 0 || r.Envs != nil {
			s.Name, s.Paths = path.Base(r.Name), c.argvPaths(r.Name, file)
		}
		return []policy.Start{s}
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	interpreter, rest, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
	if i := strings.IndexByte(interpreter, '\t'); i >= 0 {
		interpreter, rest = interpreter[:i], interpreter[i+1:]+" "+rest
	}
	var all []policy.Start
	add := func(name string, lead []string) {
		found, err := c.locate(name)
		if err != nil {
			return
		}
		at, err := c.paths.Resolve(found)
		if err != nil {
			return
		}
		if head, _ := c.h.ReadHead(at.Path, 2); string(head) != "#!" {
			all = append(all, policy.Start{File: at.Path, Name: path.Base(name), Paths: c.argvPaths(name, at.Path), Lead: lead, Script: file})
		}
	}
	rest = strings.TrimSpace(rest)
	var lead []string
	if rest != "" {
		lead = []string{rest} // the kernel does not cut it into words
	}
	add(interpreter, lead)
	if path.Base(interpreter) == "env" {
		words := strings.Fields(rest)
		if name := envProgram(words); name != "" {
			if i := slices.Index(words, name); i >= 0 {
				add(name, words[i+1:])
			}
		}
	}
	return all
}

// argvPaths returns the absolute paths that argv[0] may be for a program that is called name: name
// itself, the file if it has the same base, and the paths by which PATH finds the file. It leaves
// out directories of PATH to which a server may write.
func (c *commandResolver) argvPaths(name, file string) (paths []string) {
	if strings.HasPrefix(name, "/") {
		paths = []string{name}
	}
	base := path.Base(name)
	for _, dir := range c.searchPath {
		p := path.Join(dir, base)
		if at, err := c.paths.Resolve(p); err == nil && at.Path == file && !c.mayWrite(dir) {
			paths = append(paths, p)
		}
	}
	if path.Base(file) == base {
		paths = append(paths, file)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// elfInterpreter returns PT_INTERP of a little-endian 64-bit ELF file from its first bytes.
// The kernel opens the loader for execution too, so a list of programs without it starts
// nothing.
func elfInterpreter(head []byte) string {
	u16 := func(o int) int { return int(head[o]) | int(head[o+1])<<8 }
	u64 := func(o int) uint64 {
		var v uint64
		for i := 7; i >= 0; i-- {
			v = v<<8 | uint64(head[o+i])
		}
		return v
	}
	if len(head) < 64 || string(head[:6]) != "\x7fELF\x02\x01" {
		return ""
	}
	start, size, n := u64(32), uint64(u16(54)), uint64(u16(56))
	if size < 56 {
		return ""
	}
	for i := uint64(0); i < n; i++ {
		o := start + i*size
		if o > uint64(len(head)) || o+56 > uint64(len(head)) {
			return ""
		}
		if u16(int(o)) != 3 || u16(int(o)+2) != 0 {
			continue
		}
		off, length := u64(int(o)+8), u64(int(o)+32)
		if length < 2 || length > 4096 || off > uint64(len(head)) || off+length > uint64(len(head)) {
			return ""
		}
		name := strings.TrimRight(string(head[off:off+length]), "\x00")
		if strings.HasPrefix(name, "/") && !strings.ContainsRune(name, 0) {
			return name
		}
		return ""
	}
	return ""
}
