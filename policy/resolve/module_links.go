package resolve

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
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
	var named, lead []string
	more, followed := 0, 0
	look := func(dir string, each func(name string, mode fs.FileMode)) {
		if at, err := b.paths.Resolve(dir); err == nil && at.Exists() && at.Info.Mode.IsDir() {
			list, _ := b.paths.List(at.Path)
			for _, e := range list[:min(len(list), maxModules)] {
				each(path.Join(at.Path, e.Name), e.Type)
			}
		}
	}
	follow := func(p string, mode fs.FileMode) {
		if mode&fs.ModeSymlink == 0 || followed == maxModuleLinks {
			return
		}
		followed++
		// One question for most: where a link of a package manager leads, it is granted as well.
		target, err := b.h.Readlink(p)
		if !strings.HasPrefix(target, "/") {
			target = path.Join(path.Dir(p), target)
		}
		if e, ok := b.entries.find(path.Clean(target)); err != nil || ok && e.Rights.Has(policy.Read) {
			return
		}
		at, err := b.paths.Resolve(p)
		if err != nil || !at.Exists() || places.IsSystemPath(at.Path) {
			return
		}
		if e, ok := b.entries.find(at.Path); ok && e.Rights.Has(policy.Read) {
			return
		}
		if _, around := b.entries.find(p); !around || places.Sensitive(b.h, b.p, at.Path) != "" || b.isNeverWidened(at.Path) {
			return
		}
		if len(named) == maxLinkNames {
			more++
			return
		}
		named, lead = append(named, show.Line(p)+" -> "+show.Line(at.Path)), append(lead, at.Path)
	}
	for _, dir := range modules {
		look(dir, func(p string, mode fs.FileMode) {
			if strings.HasPrefix(path.Base(p), "@") && mode.IsDir() {
				look(p, follow)
			}
			follow(p, mode)
		})
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

// readRules returns what grants some paths, as it is written.
func (b *resolver) readRules(all []string) string {
	var parts []string
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

func (b *resolver) isNeverWidened(dir string) bool {
	for _, g := range b.neverWiden {
		if policy.Within(g, dir) {
			return true
		}
	}
	return dir == "/"
}
