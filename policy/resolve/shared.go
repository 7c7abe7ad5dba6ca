package resolve

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// sharedDirs are the directories of a home in which many programs, or all of the user's work, have
// their files. The names of the user's own are in user-dirs.dirs, too.
var sharedDirs = []string{
	".config", ".local", ".local/share", ".local/state", ".local/lib", ".cache", ".var", ".var/app", "snap",
	"Desktop", "Documents", "Downloads", "Music", "Pictures", "Videos", "Movies", "Public", "Templates",
	"Library", "Library/Application Support", "Library/Caches", "Library/Containers", "Library/Preferences",
}

// Shared returns why a directory is not for one server alone, or "". Its path is absolute, and
// symbolic links are followed. Nothing grants such a directory for the sake of one file in it.
func Shared(h *hostfs.Host, p *policy.Policy, dir string) string {
	b := newAdviser(h, p)
	return b.whyShared(b.canonical(dir))
}

// checkBeside refuses a rule that a preset made for the directory around one file, if that directory
// is shared. dir is that directory, canonical.
func (b *resolver) checkBeside(r policy.FsRule, dir string) error {
	if r.Beside == "" {
		return nil
	}
	if at, err := b.paths.Resolve(path.Join(dir, path.Base(r.Beside))); err == nil && at.Exists() && at.Info.Mode.IsDir() {
		return &BesideError{&RuleError{r.Where, fmt.Sprintf("%s is a directory: name a file, in a directory of its own", show.TOML(r.Beside))}}
	}
	if why := b.whyShared(dir); why != "" {
		return b.besideError(r, dir, why)
	}
	return nil
}

// whyShared is Shared for a canonical path.
func (b *resolver) whyShared(dir string) string {
	if reason := b.whyUnsafe(dir); reason != "" {
		return reason
	}
	for _, s := range b.builtin { // those of the user stay hidden in a grant
		if policy.Within(b.canonical(strings.TrimSuffix(s.abs, "*")), dir) {
			return fmt.Sprintf("holds a sensitive path (%s)", s.written)
		}
	}
	for _, d := range b.deciding {
		// A variable such as PATH may name a directory of the user's own work.
		if !d.ofEnvironment && policy.Within(b.canonical(d.abs), dir) {
			return fmt.Sprintf("holds %s: %s, outside of the jail", d.named, d.risk)
		}
	}
	switch work := b.canonical(b.workspaceOrDir()); {
	case dir == work: // the default policy grants it, too
		return b.paths.Others(dir)
	case policy.Within(work, dir):
		return "holds the workspace"
	}
	if why := b.whyRepository(dir); why != "" {
		return why
	}
	home := b.canonical(b.h.Home)
	if slices.ContainsFunc(append(b.userDirs(), sharedDirs...), func(name string) bool { return dir == b.canonical(path.Join(home, name)) }) {
		return "holds the files of many programs"
	}
	return b.paths.Others(dir)
}

// userDirs returns the names of the user's directories in his language, relative to the home
// directory, as xdg-user-dirs keeps them.
func (b *resolver) userDirs() (names []string) {
	head, _ := b.h.ReadHead(path.Join(path.Dir(b.h.ConfigDir), "user-dirs.dirs"), 4096)
	for line := range strings.Lines(string(head)) {
		if _, value, ok := strings.Cut(strings.TrimSpace(line), `="$HOME/`); ok && strings.HasPrefix(line, "XDG_") {
			names = append(names, strings.TrimSuffix(value, `"`))
		}
	}
	return names
}

// isNamedIn reports whether one of some rules names a path, so that it decides in full.
func (b *resolver) isNamedIn(rules []policy.FsRule, p, workspace string) bool {
	return slices.ContainsFunc(rules, func(r policy.FsRule) bool {
		abs, _ := b.expandRule(r, workspace)
		return r.Beside == "" && b.canonical(abs) == p
	})
}

// whyRepository says which working copy a directory is or holds, or which directory of git it is or
// lies in, or returns "". A directory inside a working copy may be a server's own.
func (b *resolver) whyRepository(dir string) string {
	for in := dir; in != "/"; in = path.Dir(in) {
		if b.paths.Exists(path.Join(in, "HEAD")) && b.paths.Exists(path.Join(in, "objects")) && b.paths.Exists(path.Join(in, "refs")) {
			return "is or is in the repository " + b.abbreviate(in)
		}
	}
	names := b.entriesOf(dir)
	slices.Sort(names)
	for _, name := range append([]string{"."}, names...) {
		at := path.Join(dir, name)
		if slices.ContainsFunc([]string{".git", ".hg", ".svn", ".jj"}, func(kept string) bool { return b.paths.Exists(path.Join(b.canonical(at), kept)) }) {
			return "is or holds the repository " + b.abbreviate(at)
		}
	}
	return ""
}

// besideError refuses the rule for the directory around one file. It says how to move that file, if
// that is safe.
func (b *resolver) besideError(r policy.FsRule, dir, why string) error {
	file := path.Join(dir, path.Base(r.Beside))
	text := fmt.Sprintf("%s: the server makes other files beside it, so it would need all of %s (%s), which %s. Give it a file in a directory of its own",
		show.TOML(r.Beside), dir, r.Rights(), why)
	name := strings.TrimPrefix(path.Base(file), ".")
	own := "~/mcp-" + strings.TrimSuffix(name, path.Ext(name))
	line, ok := show.FlagOK("mkdir", own)
	var files []string
	for _, end := range [...]string{"", "-wal", "-shm", "-journal"} { // the files of one SQLite database
		at := b.paths.Lstat(file + end)
		if at.Err != nil {
			continue
		}
		word, written := show.FlagOK("", b.abbreviate(file+end))
		ok = ok && written && at.Info.Mode.IsRegular() && b.mayMove(file+end)
		files = append(files, word)
	}
	do := "make that directory"
	if files != nil {
		do = "move the file there"
		to, _ := show.FlagOK("", own+"/")
		line += " && mv" + strings.Join(files, "") + to
	}
	if to := path.Join(b.h.Home, strings.TrimPrefix(own, "~/"), path.Base(file)); ok {
		text += fmt.Sprintf(", such as %s, and %s:  %s", show.Name(to), do, line)
	}
	return &BesideError{&RuleError{r.Where, text}}
}

// mayMove reports whether a file may be moved into the directory of a server. A project's file may
// have named it.
func (b *resolver) mayMove(file string) bool {
	dir := path.Dir(file)
	return Sensitive(b.h, b.p, file) == "" && Guarded(b.h, file, true) == "" && b.protectedAround(file) == "" && b.whyRepository(file) == "" &&
		(!isSystemPlace(dir) || dir == "/tmp" || dir == "/var/tmp") && b.paths.Others(file) == ""
}

// wideGrant returns the warning about a rule that grants the home directory or a directory around
// it, or "". Both paths are canonical.
func wideGrant(r policy.FsRule, at, home string) string {
	if r.Rights() == 0 || !policy.Within(home, at) {
		return ""
	}
	but := "sensitive paths"
	if r.Rights()&policy.Write != 0 {
		but += " and protected names"
	}
	return fmt.Sprintf("path = %s grants %s to everything below %s but %s", show.TOML(r.Path), r.Rights(), at, but)
}
