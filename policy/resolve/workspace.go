package resolve

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// resolveWorkspace returns the root of relative rules. "" means that the server runs
// without one (docs/policy.md "Default and explicit policy").
func (b *resolver) resolveWorkspace() (string, error) {
	written := b.p.Workspace
	abs, _ := b.expand(cmp.Or(written, "."), b.h.Dir)
	at, err := b.paths.Resolve(abs)
	which := ""
	if written != abs {
		which = " (" + abs + ")"
	}
	fail := func(reason string) (string, error) {
		if written == "" {
			b.warn("no-workspace", b.p.Where, "the working directory %s %s: the server runs without a workspace; name one with --workspace DIR or workspace = \"DIR\"", abs, reason)
			return "", nil
		}
		where := b.p.Where
		if b.p.FromCommandLine {
			where = "--workspace"
		}
		return "", &WorkspaceError{written, reason, where}
	}
	switch why := b.whyTwoWays(written, b.h.Dir); {
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
		which := "one"
		if written != "" {
			which = "another one"
		}
		if reason := b.whyUnsafe(at.Path); reason != "" {
			b.warn("no-workspace", b.p.Where, "%s %s, which the default policy never grants: the server runs without a workspace; name %s with --workspace DIR or workspace = \"DIR\"", at.Path, reason, which)
			return "", nil
		}
	}
	b.links, b.workspaceLinks = append(b.links, at.Links...), at.Links
	return at.Path, nil
}

// isSystemPlace reports whether a directory belongs to the system and not to a user's work.
// Some trees belong to the system as a whole, others contain both.
func isSystemPlace(dir string) bool {
	for _, tree := range [...]string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/boot", "/dev", "/proc", "/sys", "/etc", "/run", "/System", "/Library", "/Applications", "/private/etc", "/nix"} {
		if policy.Within(dir, tree) {
			return true
		}
	}
	if policy.Within(dir, "/usr") && !(policy.Within(dir, "/usr/src") && dir != "/usr/src") && !(policy.Within(dir, "/usr/local/src") && dir != "/usr/local/src") {
		return true
	}
	return slices.Contains([]string{
		"/var", "/var/lib", "/var/log", "/var/cache", "/var/spool", "/var/tmp", "/var/run", "/var/mail", "/var/backups", "/var/www", "/opt", "/srv", "/home", "/root", "/mnt", "/media", "/tmp", "/snap", "/lost+found", "/Users", "/Volumes", "/private", "/private/var", "/private/tmp",
	}, dir)
}

// ownDirs returns mcp-jail's configuration, state, cache and data directories, and the
// administrator's configuration directory.
func (b *resolver) ownDirs() (dirs []string) {
	for _, d := range []string{b.h.ConfigDir, b.h.StateDir, b.h.CacheDir, b.h.DataDir, policy.SystemConfigDir} {
		if strings.HasPrefix(d, "/") {
			dirs = append(dirs, path.Clean(d))
		}
	}
	return dirs
}

// collectGuarded collects the directories to which no dependency is widened, and lists the
// directories about which a start asks most.
func (b *resolver) collectGuarded() {
	home := b.canonical(b.h.Home)
	b.neverWiden = []string{home}
	b.paths.ReadAhead("/etc")
	b.paths.ReadAhead(home)
	for _, name := range [...]string{".config", ".cache", ".local/share"} {
		// A directory behind a symbolic link is not listed: it may lie in a grant.
		dir := path.Join(home, name)
		if at, err := b.paths.Resolve(dir); err == nil && at.Path == dir && at.Info.Mode&(fs.ModeDir|0o100) == fs.ModeDir|0o100 {
			b.paths.ReadAhead(dir)
		}
	}
	for _, own := range b.ownDirs() {
		b.neverWiden = append(b.neverWiden, b.canonical(own))
	}
	b.listBuiltin()
}

// listBuiltin lists the built-in sensitive paths that have a fixed place.
func (b *resolver) listBuiltin() {
	for _, s := range builtinSensitive(b.h.OS) {
		if !strings.HasPrefix(s, "**/") {
			abs, _ := b.expand(s, "/")
			b.builtin = append(b.builtin, sensitivePath{written: s, abs: abs})
			b.sensitiveDirs = append(b.sensitiveDirs, strings.TrimSuffix(abs, "*"))
		}
	}
}

// resolveHome returns HOME: the private one, or the user's.
func (b *resolver) resolveHome() (string, error) {
	if b.p.HomeReal {
		return path.Clean(b.h.Home), nil
	}
	if !strings.HasPrefix(b.h.StateDir, "/") {
		return "", fmt.Errorf("mcp-jail has no state directory for the server's private HOME; set XDG_STATE_HOME, or home = \"real\"")
	}
	below := path.Join("servers", b.p.KeptName(), "home")
	at, err := b.paths.Resolve(path.Join(b.h.StateDir, below))
	if err == nil && at.Reason == "" {
		if err := b.paths.CheckPrivate(b.h.StateDir, below); err != nil {
			return "", fmt.Errorf("the server's private HOME is not used: %w; or set home = \"real\" (--home real)", err)
		}
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("the server's private HOME cannot be found: %w; set XDG_STATE_HOME to a directory of yours, or home = \"real\" (--home real)", err)
	case at.Reason != "":
		return "", fmt.Errorf("the server's private HOME %s cannot be reached: %s; set XDG_STATE_HOME to a directory of yours, or home = \"real\" (--home real)", at.Path, at.Reason)
	case at.Exists() && !at.Info.Mode.IsDir():
		return "", fmt.Errorf("the server's private HOME %s is not a directory", at.Path)
	}
	return at.Path, nil
}

// addPrivateHome adds the entry of the private HOME. With home = "real" there is none: HOME
// is only a variable, and rules decide what is reachable.
//
// A process of one tool must leave nothing in HOME for that of another, which may have the network
// where the first has files. Where each call has its own process, each has its own copy of HOME, and
// so has the process that lists the tools: it may read what a tool may not.
func (b *resolver) addPrivateHome(out *policy.Profile) {
	if !out.HomePrivate {
		return
	}
	e := policy.Entry{Path: out.Home, Kind: policy.KindDir, Rights: policy.AllRights, Origin: policy.OriginHome, Named: out.Home, Rule: "the server's private HOME", Make: true}
	if !b.p.Stateful {
		e.Ephemeral, e.Rule = true, "the server's private HOME, as a copy that is thrown away"
	}
	b.byPath[out.Home] = e
}

// hiddenByTmpfs reports whether a path, which entry covers, is hidden because /tmp or /dev/shm is
// private to the jail. Only entries inside of these are visible there.
func hiddenByTmpfs(p, entry string) bool {
	for _, own := range [...]string{"/tmp", "/dev/shm"} {
		if p != own && policy.Within(p, own) && !policy.Within(entry, own) {
			return true
		}
	}
	return false
}

// workingDirectory returns the workspace if the server can be in it, else HOME, else /tmp.
func (b *resolver) workingDirectory(out *policy.Profile) string {
	for _, dir := range []string{out.Workspace, out.Home} {
		if dir == "" {
			continue
		}
		if e, ok := out.Find(dir); ok {
			if e.Rights != 0 && !hiddenByTmpfs(dir, e.Path) {
				return dir
			}
			continue
		}
		for _, e := range out.Entries { // a directory on the way to an entry
			if e.Rights != 0 && policy.Within(e.Path, dir) && e.Origin == policy.OriginRule {
				return dir
			}
		}
	}
	return "/tmp"
}
