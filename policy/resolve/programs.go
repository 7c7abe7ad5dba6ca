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
	return &commandResolver{mayWrite: writes, paths: b.paths, h: b.h, dir: dir, workDir: work, workspace: out.Workspace, searchPath: searchPath(b.h), neverWiden: b.neverWiden, sensitiveDirs: b.sensitiveDirs, shimmed: map[string]string{}}
}

// listPrograms computes Profile.Programs (docs/policy.md "Command rules"): what the
// rules list, and what the server itself is made of.
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
