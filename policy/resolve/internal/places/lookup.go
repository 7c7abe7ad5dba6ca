package places

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// lookup tells which objects of the host the paths of a policy mean.
type lookup struct {
	p     *policy.Policy
	h     *hostfs.Host
	paths *hostfs.LinkResolver
}

// Expand makes the path of a rule absolute. relative reports that the path belongs to the
// workspace.
func (b *lookup) Expand(p, workspace string) (abs string, relative bool) {
	if b.h.OS == "windows" { // whose host is one of [hostfs.Host.Slashed]
		p = onDrive(b.h, p, workspace)
	}
	switch {
	case strings.HasPrefix(p, "/"):
		return path.Clean(p), false
	case p == "~":
		return path.Clean(b.h.Home), false
	case strings.HasPrefix(p, "~/"):
		return path.Join(b.h.Home, p[2:]), false
	}
	return path.Join(workspace, p), true
}

// WhyTwoWays returns why a path as written can be read in two ways, or "": ".." after a symbolic link
// means another directory to the kernel than to most programs, and to [hostfs.LinkResolver.Resolve].
func (b *lookup) WhyTwoWays(written, base string) string {
	if !strings.Contains(written, "..") {
		return ""
	}
	switch {
	case strings.HasPrefix(written, "~/"):
		written = b.h.Home + written[1:]
	case !strings.HasPrefix(written, "/"):
		written = base + "/" + written
	}
	link := b.paths.UpFromLink(written)
	if link == "" {
		return ""
	}
	return fmt.Sprintf("has .. behind %s, which leads through a symbolic link to %s: the kernel goes up from there, and other programs go up in the text. Write the path that is meant, without ..", link, b.paths.Canonical(link))
}

// Abbreviate writes a path of the home directory with a "~".
func (b *lookup) Abbreviate(abs string) string {
	if n := strings.Count(b.h.Home, "/") + 1; abs != b.h.Home && within(b.h, abs, b.h.Home) {
		return strings.Join(append([]string{"~"}, strings.Split(abs, "/")[n:]...), "/")
	}
	return AsWritten(b.h, abs)
}

func (b *lookup) workspaceOrDir() string {
	abs, _ := b.Expand(cmp.Or(b.p.Workspace, "."), b.h.Dir)
	return abs
}

// IsSame reports whether two canonical paths lead to one object.
func (b *lookup) IsSame(p, q string) bool {
	if p == q {
		return true
	}
	x, y := b.paths.Lstat(p), b.paths.Lstat(q)
	return x.Err == nil && y.Err == nil && x.Info.ID != (policy.FileID{}) && x.Info.ID == y.Info.ID
}

// liesIn reports whether a canonical path that exists is a canonical place, or lies in it. It finds
// the place under other names, too: a bind mount, or another letter case. A place around the home
// directory holds everything.
func (b *lookup) liesIn(p, place string) bool {
	if within(b.h, b.paths.Canonical(b.h.Home), place) {
		return false
	}
	return within(b.h, p, place) || b.isBelow(p, place)
}

// within is [policy.Within] by the rules of a host's names.
func within(h *hostfs.Host, p, dir string) bool {
	return policy.Within(folded(h, p), folded(h, dir))
}

// folded returns a path or a name as it is compared: on Windows, names have no case.
func folded(h *hostfs.Host, p string) string {
	if h.OS == "windows" {
		return strings.ToLower(p)
	}
	return p
}

// isBelow reports whether p is an existing directory, or lies in it, by the identity of the objects.
func (b *lookup) isBelow(p, dir string) bool {
	of := b.paths.Lstat(dir)
	if of.Err != nil || of.Info.ID == (policy.FileID{}) {
		return false
	}
	for p := range hostfs.Upward(p) {
		if s := b.paths.Lstat(p); s.Err == nil && s.Info.ID == of.Info.ID {
			return true
		}
	}
	return false
}

// IsAroundWork reports whether a directory is or contains the home directory or the workspace.
func (b *lookup) IsAroundWork(dir string) bool {
	return within(b.h, b.paths.Canonical(b.h.Home), dir) || within(b.h, b.paths.Canonical(b.workspaceOrDir()), dir)
}
