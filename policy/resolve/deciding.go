package resolve

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// decidingPath is a path on this host whose content decides what runs outside of the jail.
type decidingPath struct {
	abs, named, risk string
	// ofEnvironment reports that a variable names the path. A process with other variables does
	// not protect it.
	ofEnvironment bool
}

const (
	managersRisk = "version managers, and mcp-jail, take interpreters from there"
	pathRisk     = "it is in PATH: shells, MCP clients and mcp-jail start programs from there"
	startedRisk  = "the MCP client, or what started it, is this program"
)

// moved names the variables that move a part of the home directory elsewhere. What is protected
// in its usual place is protected there as well.
var moved = []struct{ prefix, variable string }{
	{"~/.config/", "XDG_CONFIG_HOME"}, {"~/.local/share/", "XDG_DATA_HOME"}, {"~/.cache/", "XDG_CACHE_HOME"}, {"~/.local/state/", "XDG_STATE_HOME"},
	{"~/", "ZDOTDIR"}, {"~/.npm", "npm_config_cache"}, {"~/.npm", "NPM_CONFIG_CACHE"}, {"~/.cache/pip", "PIP_CACHE_DIR"}, {"~/.cache/uv", "UV_CACHE_DIR"},
	{"~/.cargo/", "CARGO_HOME"}, {"~/.rustup", "RUSTUP_HOME"}, {"~/go/", "GOPATH"}, {"~/go/bin", "GOBIN"}, {"~/.bun", "BUN_INSTALL"}, {"~/.deno", "DENO_INSTALL"}, {"~/.local/share/pnpm", "PNPM_HOME"},
}

// PlaceVariables returns the names of the variables that decide which files are the user's. See
// hostfs.Host.Places.
func PlaceVariables() []string {
	names := []string{"PATH", "FPATH"}
	for _, m := range moved {
		names = append(names, m.variable)
	}
	for _, m := range (&hostfs.Host{}).VersionManagers() {
		names = append(names, m.Variable)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// collectDeciding lists the paths that decide, once.
func (b *resolver) collectDeciding() {
	var places []struct{ prefix, dir string }
	for _, m := range moved {
		if v, _ := b.h.UserEnv(m.variable); strings.HasPrefix(v, "/") {
			places = append(places, struct{ prefix, dir string }{m.prefix, v})
		}
	}
	for _, g := range append(decidingFiles(b.h.OS), decidingGroup{"MCP clients start the servers that it names", clientFiles(b.h.OS)}) {
		for _, s := range g.paths {
			abs, _ := b.expand(s, "/")
			b.deciding = append(b.deciding, decidingPath{abs, s, g.risk, false})
			for _, m := range places {
				rest, ok := strings.CutPrefix(s, m.prefix)
				if ok && (m.prefix != "~/" || strings.HasPrefix(rest, ".z")) {
					b.addDeciding(path.Join(m.dir, rest), g.risk)
				}
			}
		}
	}
	bare := hostfs.Host{Home: b.h.Home, OS: b.h.OS}
	for _, dir := range bare.ManagerRoots() {
		b.deciding = append(b.deciding, decidingPath{dir, b.abbreviate(dir), managersRisk, false})
	}
	for _, dir := range b.h.ManagerRoots() {
		b.addDeciding(dir, managersRisk)
	}
	for _, dir := range b.userPath() {
		b.addDeciding(dir, pathRisk)
	}
}

// addDeciding adds a path that a variable names. One around the workspace is not protected inside
// grants, and see whyUnsafe.
func (b *resolver) addDeciding(abs, risk string) {
	d := decidingPath{abs, b.abbreviate(abs), risk, true}
	if b.isAroundWork(abs) {
		b.decidingWork = append(b.decidingWork, d)
	} else {
		b.deciding = append(b.deciding, d)
	}
}

// abbreviate writes a path of the home directory with a "~".
func (b *resolver) abbreviate(abs string) string {
	if abs != b.h.Home && policy.Within(abs, b.h.Home) {
		return "~" + strings.TrimPrefix(abs, b.h.Home)
	}
	return abs
}

// userPath returns the directories of PATH, and of zsh's FPATH, that do not belong to the system. It
// leaves out those of a node_modules, which `npm run` adds for a project: a server that works there
// installs packages. Nothing is chosen from them: see Guard.
func (b *resolver) userPath() (dirs []string) {
	for _, name := range [...]string{"PATH", "FPATH"} {
		value, _ := b.h.UserEnv(name)
		for dir := range strings.SplitSeq(value, ":") {
			if dir = path.Clean(dir); strings.HasPrefix(dir, "/") && dir != "/" && !isSystemPath(dir) && !slices.Contains(strings.Split(dir, "/"), "node_modules") {
				dirs = append(dirs, dir)
			}
		}
	}
	return append(dirs, "/usr/local/bin")
}

// protectDeciding protects the paths that decide, and what their entries lead to.
func (b *resolver) protectDeciding() {
	for _, d := range b.deciding {
		b.protectPath(d.abs, d.named)
	}
	if !b.grantsWrite() {
		return
	}
	depth, home := 1, b.canonical(b.h.Home)
	if e, ok := b.entryFor(home); ok && e.Rights&policy.Write != 0 {
		depth = maxDepth // all of HOME is searched at this start anyway: see scan
	}
	listed := map[string]bool{}
	for _, d := range b.deciding {
		b.followEntries(d, depth, listed)
	}
	if b.h.Ancestors != nil {
		for _, file := range b.h.Ancestors() {
			b.protectProgram(file, b.abbreviate(file))
		}
	}
	if b.h.Executable != "" {
		b.protectProgram(b.h.Executable, b.h.Executable)
	}
}

// The entries of maxDepth directories below each other are followed if HOME can be written, else
// those of a directory itself.
const maxDepth = 3

// followEntries protects what the symbolic links in a directory lead to. Stores and caches of
// packages are left out: the links in them lead to one another.
func (b *resolver) followEntries(d decidingPath, depth int, listed map[string]bool) {
	at, err := b.paths.Resolve(d.abs)
	if err != nil || !at.Exists() || !at.Info.Mode.IsDir() || listed[at.Path] || d.risk == packagesRisk || d.risk == managersRisk {
		return
	}
	listed[at.Path] = true
	if d.risk == pathRisk || d.risk == programsRisk {
		b.protectParts(at.Path, d.named)
	}
	entries, known := b.paths.Listings[at.Path]
	if !known {
		entries, _ = b.h.ReadDir(at.Path) // what cannot be listed here, the server cannot list either
	}
	for _, e := range entries {
		next := decidingPath{path.Join(at.Path, e.Name), path.Join(d.named, e.Name), d.risk, d.ofEnvironment}
		switch {
		case e.Type&(fs.ModeSymlink|fs.ModeIrregular) != 0:
			b.followEntry(next, depth, listed)
		case e.Type.IsDir() && depth > 1 && d.risk != pathRisk:
			b.followEntries(next, depth-1, listed)
		}
	}
}

// followEntry protects what one symbolic link leads to. A directory to which a link in PATH leads is
// no program.
func (b *resolver) followEntry(d decidingPath, depth int, listed map[string]bool) {
	at, err := b.paths.Resolve(d.abs)
	if err != nil || len(at.Links) == 0 {
		return
	}
	switch {
	case !at.Exists() || !at.Info.Mode.IsDir():
		b.protectProgram(d.abs, d.named)
	case d.risk != pathRisk && d.risk != programsRisk && !b.isAroundWork(at.Path):
		b.protectPath(d.abs, d.named)
		if depth > 1 {
			b.followEntries(d, depth-1, listed)
		}
	}
}

// isAroundWork reports whether a directory is or contains the home directory or the workspace.
func (b *resolver) isAroundWork(dir string) bool {
	return policy.Within(b.canonical(b.h.Home), dir) || policy.Within(b.canonical(b.workspaceOrDir()), dir)
}

// protectProgram protects a file that is started outside of the jail, the links that lead to it,
// and the directories from which it takes its parts.
func (b *resolver) protectProgram(file, named string) {
	at, err := b.paths.Resolve(file)
	if err != nil {
		return
	}
	b.protectPath(file, named)
	if !at.Exists() || at.Info.Mode.IsDir() {
		return
	}
	b.protectParts(path.Dir(at.Path), named)
}

// protectParts protects a directory of programs, and those from which the programs take their
// parts: the node_modules around it, and all that is beside a bin. In a working copy of git, the
// directories beside bin are the user's work. In ~/.local and the like, most of them are no part of
// a program.
func (b *resolver) protectParts(dir, named string) {
	dirs := []string{dir}
	prefix, base := hostfs.Split(dir)
	if before, _, ok := strings.Cut(dir+"/", "/node_modules/"); ok {
		dirs = append(dirs, before+"/node_modules")
	} else if (base == "bin" || base == "sbin") && !b.isAroundWork(prefix) && !b.paths.Exists(path.Join(prefix, ".git")) {
		if !b.isShared(prefix) {
			dirs = append(dirs, prefix)
		} else {
			for _, name := range [...]string{"lib", "lib64", "libexec", "etc", "pyvenv.cfg"} {
				dirs = append(dirs, path.Join(prefix, name))
			}
		}
	}
	for _, dir := range dirs {
		if !b.isAroundWork(dir) {
			b.protectPath(dir, named)
		}
	}
}

// isShared reports whether a directory with a bin holds more than the programs and their parts: data
// of other programs, or the source of the user's own.
func (b *resolver) isShared(prefix string) bool {
	gopath, _ := b.h.UserEnv("GOPATH")
	within := func(dir string) bool { return strings.HasPrefix(dir, "/") && policy.Within(b.canonical(dir), prefix) }
	return slices.ContainsFunc([]string{b.h.ConfigDir, b.h.StateDir, b.h.CacheDir, b.h.DataDir, path.Join(b.h.Home, ".local"), path.Join(b.h.Home, "go"), gopath}, within)
}

// warnDeciding warns of rules that name a path that decides, which grants it, and of rules for a
// directory around caches of packages, which does not.
func (b *resolver) warnDeciding() {
	for _, n := range b.targets {
		if n.rule.Rights()&policy.Write == 0 || n.rule.Where == policy.DefaultSource {
			continue
		}
		written := show.TOML(n.rule.Path)
		if d, ok := b.decidingAround(n.canonical); ok {
			b.warn("deciding-granted", n.rule.Where, "path = %s lets the server write %s: %s, outside of the jail. Grant a directory of its own instead, unless you trust this server with that", written, d.named, d.risk)
		} else if caches := b.cachesBelow(n.canonical); caches != nil {
			b.warn("deciding-kept", n.rule.Where, "path = %s does not let the server write %s: %s, outside of the jail. Only a rule that names it grants it", written, strings.Join(caches, ", "), packagesRisk)
		} else if name := b.protectedAround(n.canonical); name != "" && n.rule.Preset {
			b.warn("protected-granted", n.rule.Where, "path = %s lets the server write %s, which programs run or trust outside of the jail: a rule that names it grants it. Take it out of the command line, unless you trust this server with that", written, b.abbreviate(name))
		}
	}
}

// cachesBelow returns the caches of packages in a directory, unless that holds the home directory.
func (b *resolver) cachesBelow(dir string) (names []string) {
	if policy.Within(b.canonical(b.h.Home), dir) {
		return nil
	}
	for _, d := range b.deciding {
		if d.risk == packagesRisk && policy.Within(b.canonical(d.abs), dir) && b.paths.Exists(d.abs) {
			names = append(names, d.named)
		}
	}
	return names
}
