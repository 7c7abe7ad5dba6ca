package resolve

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

func (b *resolver) resolveWorkspace() (string, error) {
	space, err := b.places.FindWorkspace()
	b.warnings.list = append(b.warnings.list, space.Warnings...)
	b.links, b.workspaceLinks = append(b.links, space.Links...), space.Links
	return space.Dir, err
}

// collectGuarded collects the directories to which no dependency is widened, and lists the
// directories about which a start asks most, before anything else is asked.
func (b *resolver) collectGuarded() {
	home := b.paths.Canonical(b.h.Home)
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
	for _, own := range b.places.OwnDirs() {
		b.neverWiden = append(b.neverWiden, b.paths.Canonical(own))
	}
	b.places.Collect()
}

func (b *resolver) resolveHome() (string, error) {
	if b.p.HomeReal {
		return path.Clean(b.h.Home), nil
	}
	if !strings.HasPrefix(b.h.StateDir, "/") {
		return "", fmt.Errorf("mcp-jail has no state directory for the server's own HOME. Set XDG_STATE_HOME, or home = \"real\"")
	}
	below := path.Join("servers", b.p.KeptName(), "home")
	at, err := b.paths.Resolve(path.Join(b.h.StateDir, below))
	if err == nil && at.Reason == "" {
		if err := b.paths.CheckPrivate(b.h.StateDir, below); err != nil {
			return "", fmt.Errorf("the server's own HOME is not used: %w. Or set home = \"real\" (--home real)", err)
		}
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("the server's own HOME cannot be found: %w. Set XDG_STATE_HOME to one of your directories, or home = \"real\" (--home real)", err)
	case at.Reason != "":
		return "", fmt.Errorf("the server's own HOME %s cannot be reached: %s. Set XDG_STATE_HOME to one of your directories, or home = \"real\" (--home real)", at.Path, at.Reason)
	case at.Exists() && !at.Info.Mode.IsDir():
		return "", fmt.Errorf("the server's own HOME %s is not a directory", at.Path)
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
	e := policy.Entry{Path: out.Home, Kind: policy.KindDir, Rights: policy.AllRights, Origin: policy.OriginHome, Named: out.Home, Rule: "the server's own HOME", Make: true}
	if !b.p.Stateful {
		e.Ephemeral, e.Rule = true, "the server's own HOME, as a copy that is thrown away"
	}
	b.entries[out.Home] = e
}

// workingDirectory returns where the server starts: what its file says, or the workspace if the server can be
// in it, else HOME, else /tmp. On macOS the server has no /tmp: "/" stands for its TMPDIR, whose name only the
// start knows.
func (b *resolver) workingDirectory(out *policy.Profile) (string, error) {
	dirs, start := []string{out.Workspace, out.Home}, startDirectory(b, out)
	if start != "" {
		dirs = []string{start}
	}
	for _, dir := range dirs {
		if dir != "" && canStartIn(out, dir) {
			return dir, nil
		}
	}
	switch {
	case start != "" && b.p.StartIn != policy.StartInHome:
		return "", &RuleError{b.p.Where + ": directory = " + show.TOML(b.p.StartIn), "the server cannot reach it: grant it, or name another directory"}
	case b.h.OS == "darwin":
		return "/", nil
	}
	return "/tmp", nil
}

// startDirectory returns the directory that the file of a server names, or its HOME, or "" for the workspace.
func startDirectory(b *resolver, out *policy.Profile) string {
	switch b.p.StartIn {
	case "", policy.StartInWorkspace:
		return ""
	case policy.StartInHome:
		return out.Home
	}
	dir, _ := b.places.Expand(b.p.StartIn, "/")
	return b.paths.Canonical(dir)
}

func canStartIn(out *policy.Profile, dir string) bool {
	if e, ok := out.Find(dir); ok {
		return e.Rights != 0 && (dir == "/tmp" || dir == "/dev/shm" || !policy.IsOwnPlace(dir, e.Path)) // which are private to the jail
	}
	// A directory on the way to an entry.
	return slices.ContainsFunc(out.Entries, func(e policy.Entry) bool {
		return e.Rights != 0 && policy.Within(e.Path, dir) && e.Origin == policy.OriginRule
	})
}

// listOnly returns the directories above the working directory, if bun on macOS runs the server: it
// lists each of them when it starts. The names in them are seen then, and nothing else. Where an entry
// or a sensitive path decides, it stays so.
func (b *facts) listOnly(out *policy.Profile, c *Resolver) (dirs []string) {
	isBun := func(file string) bool { return policy.InterpreterFamily(path.Base(file)) == "bun" }
	if b.h.OS != "darwin" || !slices.ContainsFunc(c.Files, isBun) {
		return nil
	}
	for dir := range hostfs.Upward(path.Dir(out.Dir)) {
		if _, ok := out.Find(dir); !ok && b.places.SensitiveAround(dir) == "" {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	return dirs
}
