package resolve

import (
	"path"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// maxFollowed bounds the symbolic links of grants whose targets are looked up. Each costs
// some ten microseconds of a start.
const maxFollowed = 1000

// findLinksAstray finds out whether a symbolic link of a grant leads to a sensitive path that is
// not granted.
func (b *resolver) findLinksAstray(hits []match) {
	followed := 0
	for _, h := range hits {
		if h.pattern != linkPattern {
			continue
		}
		if followed++; b.linksAstray || followed > maxFollowed {
			return
		}
		at, err := b.paths.Resolve(path.Join(h.dir, h.name))
		if err != nil || !at.Exists() {
			continue
		}
		e, covered := b.entryFor(at.Path)
		b.linksAstray = (!covered || e.Rights == 0) && (e.Origin == policy.OriginSensitive || b.isSensitive(at.Path))
	}
}

// isSensitive reports whether a canonical path, or a directory above it, is sensitive.
func (b *resolver) isSensitive(p string) bool {
	patterns := b.patterns()
	for ; p != "/"; p = path.Dir(p) {
		dir, name := hostfs.Split(p)
		for _, pattern := range patterns {
			if pattern.matches(dir, name) {
				return true
			}
		}
		for _, s := range b.builtin {
			if in, last := hostfs.Split(s.abs); matchName(last, name) && b.canonical(in) == dir {
				return true
			}
		}
		for _, s := range b.p.Sensitive {
			if strings.HasPrefix(s, "**/") {
				continue
			}
			abs, _ := b.expand(s, b.canonical(b.workspaceOrDir()))
			if in, last := hostfs.Split(abs); matchName(last, name) && b.canonical(in) == dir {
				return true
			}
		}
	}
	return false
}
