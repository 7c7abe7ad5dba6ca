package resolve

import (
	"cmp"
	"slices"
	"sort"
	"strings"

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
	for _, r := range b.p.Commands {
		if len(r.Args) > 0 || len(r.Envs) > 0 {
			out.CommandArgs = append(out.CommandArgs, r.Name)
		}
		if _, err := c.start(r.Name, nil); err != nil {
			if program, args, ok := strings.Cut(r.Name, " "); ok {
				b.warn("missing-command", r.Where, "the command rule %q allows nothing: no program has that name; call it %s, with args = %s", r.Name, policy.QuoteKey(program), policy.QuoteTOMLList(append(strings.Fields(args), "**")))
				continue
			}
			b.warn("missing-command", r.Where, "the command rule %q allows nothing: %s", r.Name, err)
		}
	}
	sort.Strings(out.CommandArgs)
	out.Programs = slices.Compact(slices.Sorted(slices.Values(c.files)))
	out.Loaders = slices.Compact(slices.Sorted(slices.Values(c.loaders)))
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
