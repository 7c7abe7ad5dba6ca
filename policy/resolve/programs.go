package resolve

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/command"
)

func (b *resolver) commandResolver(out *policy.Profile) *command.Resolver {
	work := cmp.Or(startDirectory(b, out), out.Workspace, b.h.Dir)
	dir := work
	if b.p.FromCommandLine {
		dir = b.h.Dir // as a shell reads it
	}
	writes := func(p string) bool {
		_, ok := b.writers.writerOf(p, policy.Write)
		return ok
	}
	dirs := command.SearchPath(b.h)
	if bin := b.p.Packages.Bin; bin != "" {
		dirs = append(dirs, bin)
	}
	return &command.Resolver{MayWrite: writes, Paths: b.paths, H: b.h, Dir: dir, WorkDir: work, Workspace: out.Workspace, Tree: b.p.Packages.Tree, SearchPath: dirs, NeverWiden: b.neverWiden, SensitiveDirs: b.places.SensitiveDirs, Shimmed: map[string]string{}}
}

// FindProgram returns the real path of the program that a start runs for a command line, or the *[CommandError]
// with which the start ends if it, or its interpreter, is not there.
func FindProgram(host hostfs.Host, argv ...string) (string, error) {
	if host.OS == "windows" {
		out := &policy.Profile{Dir: host.Dir}
		err := windows{&host}.program(&policy.Policy{Command: argv[0], Arguments: argv[1:]}, out)
		return out.Program, err
	}
	c := &command.Resolver{Paths: hostfs.NewLinkResolver(&host), H: &host, Dir: host.Dir, WorkDir: host.Dir, SearchPath: command.SearchPath(&host), Shimmed: map[string]string{}}
	return c.Start(argv[0], nil)
}

func (b *resolver) listPrograms(c *command.Resolver, out *policy.Profile) {
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
		command := policy.Command{Name: r.Name, Where: r.Where, Args: r.Args, Envs: r.Envs, Starts: c.Starts(r, file)}
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
