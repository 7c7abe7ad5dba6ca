package grantcmd

import (
	"runtime"
	"slices"

	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/granting"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// spelled returns flags that the user typed as the file of a place has them: with paths that mean
// the same wherever the client starts the server.
func (g *grantCmd) spelled(p *plan, typed []granting.Flag) (flags []granting.Flag, err error) {
	person := granting.Person{System: runtime.GOOS, Home: g.home, Dir: g.dir}
	for _, f := range typed {
		if f.IsPath() {
			f, err = g.path(p, person, f, typed)
		} else {
			err = p.stays(f)
		}
		if err != nil {
			return nil, err
		}
		flags = append(flags, f)
	}
	return flags, nil
}

func (g *grantCmd) path(p *plan, person granting.Person, f granting.Flag, typed []granting.Flag) (granting.Flag, error) {
	path, err := person.Path(f.Value)
	if err != nil {
		return f, exit.UsageErrorf("%s", err)
	}
	whole := person.Whole(path)
	isHome := g.home != "" && hostfs.Within(runtime.GOOS, g.home, whole)
	switch {
	// mcp-jail proposes it beside other flags, and means the workspace.
	case f.Value == "." && f.Name == "--write" && p.table == nil && granting.IsDefault(p.before) && len(typed) > 1:
		return f, nil
	case isHome && !g.remove && !slices.Contains([]string{"/", "~", "~/", g.home, g.home + "/"}, f.Value) && f.Name != "--deny":
		return f, exit.UsageErrorf("%s is your whole home directory here, or more. To grant all of that, write it as %s; the workspace of the server needs no flag", f, path)
	}
	if p.table != nil {
		return granting.NewFlag(f.Name, p.tablePath(whole, path)), nil
	}
	if shared := p.Entry.InProject(whole, p.clients); shared != "" {
		return granting.NewFlag(f.Name, shared), nil
	}
	f = granting.NewFlag(f.Name, path)
	return f, p.stays(f)
}

// stays returns an error if a client would replace a part of a flag.
func (p *plan) stays(f granting.Flag) error {
	if p.table != nil || !p.File.References(f.Value) {
		return nil
	}
	return exit.UsageErrorf("%s cannot be written into %s: %s would replace a part of it", f, p.Place(), p.File.Client.Title)
}
