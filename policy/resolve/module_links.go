package resolve

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/entries"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/places"
)

// Bounds of a look into node_modules, which a start pays.
const (
	maxModules     = 5000 // names
	maxModuleLinks = 500  // links that are followed
	maxLinkNames   = 5    // links that a warning names
)

// warnModuleLinks warns of packages in a node_modules of the server's script that are links to what is
// not granted, as those of a monorepo or of npm link. A repository can bring such a link, so none is
// followed. It looks at the first level and at scopes.
func (b *resolver) warnModuleLinks(modules []string) {
	var links []string
	for _, dir := range modules {
		links = append(links, b.moduleLinks(dir, true)...)
	}
	slices.Sort(links)
	var named, lead []string
	more := 0
	for _, l := range links[:min(len(links), maxModuleLinks)] {
		to := b.leadsAway(l)
		switch {
		case to == "":
		case len(named) == maxLinkNames:
			more++
		default:
			if named = append(named, show.Line(l)+" -> "+show.Line(to)); !slices.Contains(lead, to) {
				lead = append(lead, to)
			}
		}
	}
	if len(named) == 0 {
		return
	}
	text := "packages of the server are links that lead out of what is granted, and no link grants anything: " + strings.Join(named, ", ")
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	b.warnings.warn("module-links", b.p.Where, "%s; if the server needs them, %s", text, b.readRules(lead))
}

// moduleLinks returns the links in a node_modules, or in a scope of one.
func (b *facts) moduleLinks(dir string, scopes bool) (links []string) {
	at, err := b.paths.Resolve(dir)
	if err != nil || !at.Exists() || !at.Info.Mode.IsDir() {
		return nil
	}
	list, _ := b.paths.List(at.Path)
	for _, e := range list[:min(len(list), maxModules)] {
		switch p := path.Join(at.Path, e.Name); {
		case e.Type&fs.ModeSymlink != 0:
			links = append(links, p)
		case scopes && e.Type.IsDir() && strings.HasPrefix(e.Name, "@"):
			links = append(links, b.moduleLinks(p, false)...)
		}
	}
	return links
}

// leadsAway returns where a link leads, if that is not granted and a rule for it can be proposed.
func (b *resolver) leadsAway(link string) string {
	if _, granted := b.entries.Find(link); !granted {
		return ""
	}
	readable := func(p string) bool {
		e, ok := b.entries.Find(p)
		return ok && e.Rights.Has(policy.Read)
	}
	// One question for most: where a link of a package manager leads, it is granted as well.
	target, err := b.h.Readlink(link)
	if !strings.HasPrefix(target, "/") {
		target = path.Join(path.Dir(link), target)
	}
	if err != nil || readable(path.Clean(target)) {
		return ""
	}
	at, err := b.paths.Resolve(link)
	if err != nil || !at.Exists() || readable(at.Path) || places.InBaseline(b.h.OS, at.Path) || places.Sensitive(b.h, b.p, at.Path) != "" || holdsAny(at.Path, b.neverWiden) {
		return ""
	}
	return at.Path
}

// readRules returns what grants some paths, as it is written. The first rule replaces the default
// policy, so the workspace gets one too.
func (b *resolver) readRules(all []string) string {
	var parts []string
	if slices.ContainsFunc(b.targets, func(n entries.Target) bool { return n.Rule.Workspace }) {
		parts = []string{"--write ."}
		if !b.p.FromCommandLine {
			parts = []string{`path = ".", read = true, write = true`}
		}
	}
	for _, p := range all {
		if b.p.FromCommandLine {
			parts = append(parts, show.Typed("--read", p))
		} else {
			parts = append(parts, "path = "+show.TOML(p)+", read = true")
		}
	}
	if b.p.FromCommandLine {
		return "start it with " + strings.Join(parts, " ")
	}
	return "add " + strings.Join(parts, ", and ")
}

// holdsAny reports whether a directory is or holds one of some paths.
func holdsAny(dir string, all []string) bool {
	return slices.ContainsFunc(all, func(p string) bool { return policy.Within(p, dir) })
}
