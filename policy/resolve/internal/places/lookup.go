package places

import (
	"cmp"
	"fmt"
	"path"
	"slices"
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
	if rest, inHome := strings.CutPrefix(abs, b.h.Home+"/"); inHome {
		return "~/" + rest
	}
	return abs
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
	if policy.Within(b.paths.Canonical(b.h.Home), place) {
		return false
	}
	return policy.Within(p, place) || b.isBelow(p, place)
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

// isAroundWork reports whether a directory is or contains the home directory or the workspace.
func (b *lookup) isAroundWork(dir string) bool {
	return policy.Within(b.paths.Canonical(b.h.Home), dir) || policy.Within(b.paths.Canonical(b.workspaceOrDir()), dir)
}

// Shared returns why a directory is not for one server alone, or "". Its path is absolute, and
// symbolic links are followed. Nothing grants such a directory for the sake of one file in it.
func Shared(h *hostfs.Host, p *policy.Policy, dir string) string {
	if !isPOSIX(h) {
		return ""
	}
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
		if policy.Within(b.paths.Canonical(strings.TrimSuffix(s.Abs, "*")), dir) {
			return fmt.Sprintf("holds a sensitive file (%s)", s.Written)
		}
	}
	for _, d := range b.Deciding {
		// A variable such as PATH may name a directory of the user's own work.
		if !d.OfEnvironment && policy.Within(b.paths.Canonical(d.Abs), dir) {
			return fmt.Sprintf("holds %s: %s, outside the jail", d.Written, d.Why)
		}
	}
	switch work := b.paths.Canonical(b.workspaceOrDir()); {
	case dir == work: // the default policy grants it, too
		return b.paths.Others(dir)
	case policy.Within(work, dir):
		return "holds the project folder"
	}
	if why := b.whyRepository(dir); why != "" {
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
		return dir == b.paths.Canonical(path.Join(home, name))
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

// whyRepository says which working copy a directory is or holds, or which directory of git it is or
// lies in, or returns "". A directory inside a working copy may be a server's own.
func (b *Places) whyRepository(dir string) string {
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
	case dir == home:
		return "is your home folder"
	case policy.Within(home, dir):
		return "holds your home folder"
	}
	for _, own := range b.allOwnDirs() {
		if own = b.paths.Canonical(own); policy.Within(own, dir) || b.liesIn(dir, own) {
			return fmt.Sprintf("holds, or is inside of, mcp-jail's own files (%s)", own)
		}
	}
	if isSystemPlace(b.h.OS, dir) {
		return "is a system directory"
	}
	if s := b.SensitiveAround(dir); s != "" {
		return fmt.Sprintf("is a sensitive file (%s)", s)
	}
	d, ok := b.DecidingAround(dir)
	for _, of := range b.decidingWork {
		// A program is found in a directory of PATH itself. Directories in it are the user's work.
		if at := b.paths.Canonical(of.Abs); !ok && b.liesIn(dir, at) && (of.Kind != inPath || !b.liesIn(path.Dir(dir), at)) {
			d, ok = of, true
		}
	}
	if name := b.ProtectedAround(dir); !ok && name != "" {
		d, ok = place{Abs: name, Written: b.Abbreviate(name), Why: "programs run or trust what is there"}, true
	}
	switch {
	case !ok:
		return ""
	case b.liesIn(path.Dir(dir), b.paths.Canonical(d.Abs)):
		return fmt.Sprintf("is in %s (%s, outside the jail)", d.Written, d.Why)
	}
	return fmt.Sprintf("is %s (%s, outside the jail)", d.Written, d.Why)
}

// IsWiderThanMeant reports whether a relative flag, or a relative rule of a preset, would grant the
// home directory or a directory around it. A client that runs a line in a project today may run it in
// the home directory tomorrow.
func (b *Places) IsWiderThanMeant(p *policy.Policy, r policy.FsRule, dir string) bool {
	return (p.FromCommandLine || r.Preset) && p.Workspace == "" && !r.Workspace && r.Rights() != 0 && policy.Within(b.paths.Canonical(b.h.Home), dir)
}

// WhyNotRelative returns why a relative rule grants nothing at a canonical path, or "". The workspace itself
// has the exceptions of the default policy, and every relative rule of a preset has them.
func (b *Places) WhyNotRelative(r policy.FsRule, dir string) string {
	if r.Rights() == 0 || r.Beside != "" || !r.Preset && path.Clean(r.Path) != "." {
		return ""
	}
	return b.whyUnsafe(dir)
}

// A Workspace is where the relative rules of a server begin.
type workspace struct {
	Dir      string        // canonical; "" if there is none
	Links    []policy.Link // crossed on the way to it
	Warnings []policy.Warning
}

// FindWorkspace returns the root of relative rules. "" means that the server runs without one
// (docs/policy.md "Default and explicit policy").
func (b *Places) FindWorkspace() (workspace, error) {
	written := b.p.Workspace
	abs, _ := b.Expand(cmp.Or(written, "."), b.h.Dir)
	at, err := b.paths.Resolve(abs)
	which := ""
	if written != abs {
		which = " (" + abs + ")"
	}
	fail := func(reason string) (workspace, error) {
		if written == "" {
			return b.noWorkspace(abs, reason)
		}
		where := b.p.Where
		if b.p.FromCommandLine {
			where = "--workspace"
		}
		return workspace{}, &WorkspaceError{written, reason, where}
	}
	switch why := b.WhyTwoWays(written, b.h.Dir); {
	case err != nil:
		return fail(err.Error())
	case why != "":
		return fail(why)
	case at.Reason != "":
		return fail("cannot be reached: " + at.Reason)
	case !at.Exists():
		return fail("does not exist" + which)
	case !at.Info.Mode.IsDir():
		return fail("is not a directory" + which)
	}
	if b.p.Default {
		if reason := b.whyUnsafe(at.Path); reason != "" {
			return b.noWorkspace(at.Path, reason)
		}
	}
	return workspace{Dir: at.Path, Links: at.Links}, nil
}

func (b *Places) noWorkspace(dir, reason string) (workspace, error) {
	text := fmt.Sprintf("%[1]s has no project folder, because %[2]s %[3]s. If it needs one, name it: mcp-jail grant %[1]s --workspace ~/project", b.p.Server, dir, reason)
	return workspace{Warnings: []policy.Warning{{Code: "no-workspace", Message: text, Where: b.p.Where}}}, nil
}

// WorkspaceError reports a workspace that was named and cannot be used.
type WorkspaceError struct {
	Workspace string // as written
	Reason    string
	Where     string
}

func (e *WorkspaceError) Error() string {
	return strings.TrimPrefix(e.Where+": ", ": ") + fmt.Sprintf("the project folder %q %s", e.Workspace, e.Reason)
}
