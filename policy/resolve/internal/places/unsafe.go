package places

import (
	"fmt"
	"path"

	"github.com/mcp-jail/mcp-jail/policy"
)

// whyUnsafe returns why the default policy and presets do not grant a canonical path that the user
// did not name, or "". A project chooses the directory that its servers start in, so that directory is
// judged as a grant. What lies in the path is not asked for: it stays protected inside the grant.
func (b *Places) whyUnsafe(dir string) string {
	why, known := b.unsafe[dir]
	if !known {
		if b.unsafe == nil {
			b.unsafe = map[string]string{}
		}
		why = b.judgeUnsafe(dir)
		b.unsafe[dir] = why
	}
	return why
}

func (b *Places) judgeUnsafe(dir string) string {
	home := b.paths.Canonical(b.h.Home)
	switch {
	case dir == "/":
		return "is the root of the filesystem"
	case folded(b.h, dir) == folded(b.h, home):
		return "is the home directory"
	case within(b.h, home, dir):
		return "holds the home directory"
	}
	for _, own := range b.allOwnDirs() {
		if own = b.paths.Canonical(own); within(b.h, own, dir) || b.liesIn(dir, own) {
			return fmt.Sprintf("holds, or is inside of, mcp-jail's own files (%s)", AsWritten(b.h, own))
		}
	}
	if IsSystemPlace(b.h.OS, dir) {
		return "is a system directory"
	}
	if s := b.SensitiveAround(dir); s != "" {
		return fmt.Sprintf("is a sensitive path (%s)", s)
	}
	d, ok := b.DecidingAround(dir)
	for _, of := range b.decidingWork {
		// A program is found in a directory of PATH itself. Directories in it are the user's work.
		if at := b.paths.Canonical(of.Abs); !ok && b.liesIn(dir, at) && (of.Kind != InPath || !b.liesIn(path.Dir(dir), at)) {
			d, ok = of, true
		}
	}
	if name := b.ProtectedAround(dir); !ok && name != "" {
		d, ok = Place{Abs: name, Written: b.Abbreviate(name), Why: "programs run or trust what is there"}, true
	}
	switch {
	case !ok:
		return ""
	case b.liesIn(path.Dir(dir), b.paths.Canonical(d.Abs)):
		return fmt.Sprintf("is in %s (%s, outside of the jail)", d.Written, d.Why)
	}
	return fmt.Sprintf("is %s (%s, outside of the jail)", d.Written, d.Why)
}

// IsWiderThanMeant reports whether a relative flag, or a relative rule of a preset, would grant the
// home directory or a directory around it. A client that runs a line in a project today may run it in
// the home directory tomorrow.
func (b *Places) IsWiderThanMeant(p *policy.Policy, r policy.FsRule, dir string) bool {
	return (p.FromCommandLine || r.Preset) && p.Workspace == "" && !r.Workspace && r.Rights() != 0 && within(b.h, b.paths.Canonical(b.h.Home), dir)
}

// WhyNotRelative returns why a relative rule grants nothing at a canonical path, or "". The workspace itself
// has the exceptions of the default policy, and every relative rule of a preset has them.
func (b *Places) WhyNotRelative(r policy.FsRule, dir string) string {
	if r.Rights() == 0 || r.Beside != "" || !r.Preset && path.Clean(r.Path) != "." {
		return ""
	}
	return b.whyUnsafe(dir)
}
