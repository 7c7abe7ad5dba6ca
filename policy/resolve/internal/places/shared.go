package places

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Shared returns why a directory is not for one server alone, or "". Its path is absolute, and
// symbolic links are followed. Nothing grants such a directory for the sake of one file in it.
func Shared(h *hostfs.Host, p *policy.Policy, dir string) string {
	h = h.Slashed()
	b := newAdviser(h, p)
	abs, _ := b.Expand(dir, h.Dir)
	return b.WhyShared(b.paths.Canonical(abs))
}

// WhyShared is Shared for a canonical path.
func (b *Places) WhyShared(dir string) string {
	if reason := b.whyUnsafe(dir); reason != "" {
		return reason
	}
	for _, s := range b.Builtin { // those of the user stay hidden in a grant
		if within(b.h, b.paths.Canonical(strings.TrimSuffix(s.Abs, "*")), dir) {
			return fmt.Sprintf("holds a sensitive path (%s)", s.Written)
		}
	}
	for _, d := range b.Deciding {
		// A variable such as PATH may name a directory of the user's own work.
		if !d.OfEnvironment && within(b.h, b.paths.Canonical(d.Abs), dir) {
			return fmt.Sprintf("holds %s: %s, outside of the jail", d.Written, d.Why)
		}
	}
	switch work := b.paths.Canonical(b.workspaceOrDir()); {
	case folded(b.h, dir) == folded(b.h, work): // the default policy grants it, too
		return b.paths.Others(dir)
	case within(b.h, work, dir):
		return "holds the workspace"
	}
	if why := b.WhyRepository(dir); why != "" {
		return why
	}
	if b.isShared(dir) {
		return "holds the files of many programs"
	}
	return b.paths.Others(dir)
}

// isShared reports whether a directory of the user's home has the files of many programs.
func (b *Places) isShared(dir string) bool {
	home := b.paths.Canonical(b.h.Home)
	return slices.ContainsFunc(append(b.userDirs(), rows("shared", b.h.OS)...), func(name string) bool {
		return folded(b.h, dir) == folded(b.h, b.paths.Canonical(path.Join(home, name)))
	})
}

// userDirs returns the names of the user's directories in his language, relative to the home
// directory, as xdg-user-dirs keeps them.
func (b *Places) userDirs() (names []string) {
	head, _ := b.h.ReadHead(path.Join(path.Dir(b.h.ConfigDir), "user-dirs.dirs"), 4096)
	for line := range strings.Lines(string(head)) {
		if _, value, ok := strings.Cut(strings.TrimSpace(line), `="$HOME/`); ok && strings.HasPrefix(line, "XDG_") {
			names = append(names, strings.TrimSuffix(value, `"`))
		}
	}
	return names
}

// WhyRepository says which working copy a directory is or holds, or which directory of git it is or
// lies in, or returns "". A directory inside a working copy may be a server's own.
func (b *Places) WhyRepository(dir string) string {
	for in := range hostfs.Upward(dir) {
		if b.paths.Exists(path.Join(in, "HEAD")) && b.paths.Exists(path.Join(in, "objects")) && b.paths.Exists(path.Join(in, "refs")) {
			return "is or is in the repository " + b.Abbreviate(in)
		}
	}
	names, _ := b.paths.Names(dir)
	for _, name := range append([]string{"."}, names...) {
		at := path.Join(dir, name)
		if slices.ContainsFunc([]string{".git", ".hg", ".svn", ".jj"}, func(kept string) bool { return b.paths.Exists(path.Join(b.paths.Canonical(at), kept)) }) {
			return "is or holds the repository " + b.Abbreviate(at)
		}
	}
	return ""
}
