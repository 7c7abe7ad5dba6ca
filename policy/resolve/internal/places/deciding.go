package places

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/winpath"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// DecidingPath is a path on this host whose content decides what runs outside of the jail.
type DecidingPath struct {
	Abs, Named, Risk string
	// ofEnvironment reports that a variable names the path. A process with other variables does
	// not protect it.
	OfEnvironment bool
}

const (
	ManagersRisk = "version managers, and mcp-jail, take interpreters from there"
	PathRisk     = "it is in PATH: shells, MCP clients and mcp-jail start programs from there"
	startedRisk  = "the MCP client, or what started it, is this program"
)

// A move is a variable, or the directory that it names, to which a part of the home directory moves: to a name in it after a
// slash. What is protected or hidden in its usual place is so there as well.
type move struct{ prefix, to string }

var moved = []move{
	{"~/.config/", "XDG_CONFIG_HOME"}, {"~/.local/share/", "XDG_DATA_HOME"}, {"~/.cache/", "XDG_CACHE_HOME"}, {"~/.local/state/", "XDG_STATE_HOME"},
	{"~/", "ZDOTDIR"}, {"~/.npm", "npm_config_cache"}, {"~/.npm", "NPM_CONFIG_CACHE"}, {"~/.cache/pip", "PIP_CACHE_DIR"}, {"~/.cache/uv", "UV_CACHE_DIR"},
	{"~/.cargo/", "CARGO_HOME"}, {"~/.rustup", "RUSTUP_HOME"}, {"~/go/", "GOPATH"}, {"~/go/bin", "GOBIN"}, {"~/.bun", "BUN_INSTALL"}, {"~/.deno", "DENO_INSTALL"}, {"~/.local/share/pnpm", "PNPM_HOME"},
	{"~/.virtualenvs", "WORKON_HOME"}, {"~/.codex/", "CODEX_HOME"}, {"~/.qwen/", "QWEN_HOME"}, {"~/.copilot/", "COPILOT_HOME"},
	{"~/.claude/", "CLAUDE_CONFIG_DIR"}, {"~/.gemini/", "GEMINI_CLI_HOME/.gemini"}, {"~/.config/goose/", "GOOSE_PATH_ROOT/config"}, {"~/.config/jp/", "JP_GLOBAL_CONFIG_DIR"},
	{"~/.config/crush", "CRUSH_GLOBAL_CONFIG"}, {"~/.local/share/crush/", "CRUSH_GLOBAL_DATA"}, {"~/.config/kilo", "KILO_CONFIG_DIR"}, {"~/.config/opencode", "OPENCODE_CONFIG_DIR"},
}

// PlaceVariables returns the names of the variables that decide which files are the user's, on a system as
// in runtime.GOOS. See hostfs.Host.Places.
func PlaceVariables(os string) []string {
	names := []string{"PATH", "FPATH"}
	for _, m := range moved {
		name, _, _ := strings.Cut(m.to, "/")
		names = append(names, name)
	}
	for _, m := range (&hostfs.Host{OS: os}).VersionManagers() {
		names = append(names, m.Variable)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// moves returns the moves whose variables are set, with the directories that these name.
func (b *Places) moves() (set []move) {
	for _, m := range moved {
		name, below, _ := strings.Cut(m.to, "/")
		if dir, _ := b.h.UserEnv(name); strings.HasPrefix(dir, "/") {
			set = append(set, move{m.prefix, path.Join(dir, below)})
		}
	}
	return set
}

// movedTo returns where else a path lies, after moves with directories.
func movedTo(written string, moves []move) (all []string) {
	for _, m := range moves {
		rest, ok := strings.CutPrefix(written, m.prefix)
		if ok && (m.prefix != "~/" || strings.HasPrefix(rest, ".z")) {
			all = append(all, path.Join(m.to, rest))
		}
	}
	return all
}

// roomForDeciding is more than a host usually has. Pages that a start touches for the first time are
// dear, and a list that grows touches three times as many.
const roomForDeciding = 768

func (b *Places) collectDeciding() {
	b.Deciding = make([]DecidingPath, 0, roomForDeciding)
	moves := b.moves()
	for _, g := range append(DecidingFiles(b.h.OS), DecidingGroup{"MCP clients start the servers that it names", ClientFiles(b.h.OS)}) {
		for _, s := range g.Paths {
			abs, _ := b.Expand(s, "/")
			b.Deciding = append(b.Deciding, DecidingPath{abs, s, g.Risk, false})
			for _, at := range movedTo(s, moves) { // protected in both places
				b.addDeciding(at, g.Risk)
			}
		}
	}
	bare := hostfs.Host{Home: b.h.Home, OS: b.h.OS}
	for _, dir := range bare.ManagerRoots() {
		b.Deciding = append(b.Deciding, DecidingPath{dir, b.Abbreviate(dir), ManagersRisk, false})
	}
	for _, dir := range b.h.ManagerRoots() {
		b.addDeciding(dir, ManagersRisk)
	}
	for _, dir := range b.userPath() {
		b.addDeciding(dir, PathRisk)
	}
}

// addDeciding adds a path that a variable names. One around the workspace is not protected inside
// grants, and see WhyUnsafe.
func (b *Places) addDeciding(abs, risk string) {
	d := DecidingPath{abs, b.Abbreviate(abs), risk, true}
	if b.IsAroundWork(abs) {
		b.decidingWork = append(b.decidingWork, d)
	} else {
		b.Deciding = append(b.Deciding, d)
	}
}

// userPath returns the directories of PATH, and of zsh's FPATH, that do not belong to the system. It
// leaves out those of a node_modules, which `npm run` adds for a project: a server that works there
// installs packages. Nothing is chosen from them: see Guard.
func (b *Places) userPath() (dirs []string) {
	for _, name := range [...]string{"PATH", "FPATH"} {
		value, _ := b.h.UserEnv(name)
		for _, dir := range hostfs.SplitList(b.h.OS, value) {
			if _, slashed := winpath.FromSlashed(dir); b.h.OS == "windows" && !slashed { // as a list of one has it
				dir = winpath.Slashed(dir)
			}
			dir = path.Clean(dir)
			if strings.HasPrefix(dir, "/") && dir != "/" && !b.isSystemPath(dir) && !slices.Contains(strings.Split(dir, "/"), "node_modules") {
				dirs = append(dirs, dir)
			}
		}
	}
	if b.h.OS == "windows" {
		return dirs
	}
	return append(dirs, "/usr/local/bin")
}

// isSystemPath is IsSystemPath without what users and Homebrew install on macOS.
func (b *Places) isSystemPath(dir string) bool {
	if b.h.OS == "windows" {
		return isPlaceOfWindows(dir)
	}
	return IsSystemPath(dir) && (b.h.OS != "darwin" || !policy.Within(dir, "/usr/local"))
}

// DecidingAround returns the path that decides which a canonical path is, or lies in.
func (b *Places) DecidingAround(p string) (DecidingPath, bool) {
	for _, d := range b.Deciding {
		if at := b.paths.Canonical(d.Abs); b.liesIn(p, at) && !policy.IsClientsCopy(strings.TrimPrefix(p, at)) {
			return d, true
		}
	}
	return DecidingPath{}, false
}

// ProtectedAround returns the protected name that a canonical path is, or lies in, or "".
func (b *Places) ProtectedAround(p string) string {
	// A repository may have the name .github. What is in one counts in the root of another.
	if dir := path.Dir(p); strings.EqualFold(path.Base(p), ".github") && b.paths.Exists(path.Join(dir, ".git")) {
		return p
	}
	return policy.ProtectedAround(p)
}
