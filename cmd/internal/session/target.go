// Package session goes from a command line and the configuration to a session with a server. A
// [Target] is the server with its policy, resolved on this host. Both mcp-jail, which starts it,
// and mcp-jail-cli, which describes and tries it, use this package. [Resolve] makes a target.
// [Load] and [Configured] make one that is not resolved yet.
//
//   - [Target.Follow] returns the target of a running session, which follows its configuration.
//     [Followed.Session] makes a session of package lifecycle of it.
//   - [Target.Start] resolves the profile again if the host changed during a start.
//   - [Target.Tool] returns the target of one tool of a stateless server.
//   - Target.attempt tries the grants that a diagnosis is about to propose.
//   - A [Package] is what npx, uvx or the like would fetch for the server. [Package.Install] has
//     mcp-jail-cli install it, and waits.
//   - [LoadConfig] lays the preset that a server names below the server's table.
//   - home.go has the server's private HOME, writers.go where other servers may write and what they are started from,
//     program.go the programs that a start may take, keeping.go the files that the server changes.
//   - [Refuse] and [Misuse] answer the client if there is no session.
//
// The package prints errors, and lines about packages, private HOMEs and undo, to standard error.
// To standard output it writes only MCP messages: answers of Refuse and Misuse, and the progress of
// an installation. mcp-jail-cli installs, and tells how far it is by a [Message] a line.
package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/diagnose"
	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// Target is one server as the command line and the configuration describe it. When it is
// resolved, its Profile is the policy as this host has it. It is not yet compiled for the kernel.
type Target struct {
	Config   *config.Config                            // nil for a command after --
	PolicyOf func(tool string) (*policy.Policy, error) // nil for a command after --
	Policy   *policy.Policy
	Profile  *policy.Profile
	Package  *Package // nil if no launcher starts it, and before Resolve
	Warnings []policy.Warning
	Host     hostfs.Host

	commandLine config.CommandLineOptions // for a command after --
	isTool      bool                      // for one tool, or for the tools without a table
	source      source                    // what it was loaded from
	written     string                    // see Written; "" for what it was loaded from
	given       []string                  // the command before a program of a package replaced it
	inJail      inJail                    // what the preset adds to it
	trial       *Trial                    // the packages that are tried; nil for those of the user
	others      *writers                  // see writers
	begun       bool                      // ClaimHome was called
}

// WarningTexts returns the warnings of the target as text.
func (t *Target) WarningTexts() []string {
	out := WarningTexts(t.Warnings)
	for i, w := range t.Warnings {
		if t.Policy.FromCommandLine && w.Where == t.Policy.Where {
			out[i] = w.Message // its place would be "the command line"
		}
		out[i] = show.Line(out[i]) // it may contain file names
	}
	if w := t.unreachableArguments(); w != "" {
		out = append(out, show.Line(w))
	}
	return out
}

// unreachableArguments returns a warning about arguments that name files which the server
// cannot reach, or "". For a stateless server these are the files that none of its
// processes can reach.
func (t *Target) unreachableArguments() string {
	if t.Profile == nil || t.isTool {
		return ""
	}
	w := diagnose.Arguments(t.evidence())
	if w == "" || t.Policy.Stateful {
		return w
	}
	var tools []*policy.Profile
	for _, name := range t.Config.ToolsWithTable(t.Policy.Server) {
		if tool, err := t.Tool(name); err == nil {
			tools = append(tools, tool.Profile)
		}
	}
	return diagnose.Arguments(t.evidence(), tools...)
}

func (t *Target) evidence() diagnostics.Evidence {
	return diagnostics.Evidence{
		Server: t.Profile.Server, System: t.Host.OS, Profile: t.Profile, FromCommandLine: t.Policy.FromCommandLine, Stateless: !t.Policy.Stateful,
		UserHome: t.Host.Home, SearchPath: os.Getenv("PATH"), Host: host{t: t},
	}
}

// Resolve loads and resolves the policy of a server: the configured server name, or
// the command after -- if name is "". With an error the target is nil or holds what was
// found before.
func Resolve(common cmdline.ConfigFlags, flags cmdline.PolicyFlags, name, tool string, server cmdline.Server) (*Target, error) {
	t, err := Load(common, flags, name, tool, server)
	if err == nil {
		err = t.Resolve()
	}
	var defaults *terminal.DefaultsError
	var beside *resolve.BesideError
	if server.Given && flags.ID == "" && terminal.IsUserError(err) && !errors.As(err, &defaults) && !errors.As(err, &beside) {
		err = terminal.UsageErrorf("%w", err) // the whole policy comes from the command line
	}
	return t, err
}

// Load loads the policy of a server as Resolve does, and does not resolve it.
func Load(common cmdline.ConfigFlags, flags cmdline.PolicyFlags, name, tool string, server cmdline.Server) (*Target, error) {
	return LoadWith(config.LoadOptions{}, common, flags, name, tool, server)
}

// MakeOwn makes the directories of mcp-jail's own: a jail around them hides only what is there when it is built.
func MakeOwn() {
	_, _, cache, data, err := hostfs.UserDirs()
	if err != nil {
		return // the start says why
	}
	for _, dir := range []string{cache, data} {
		if _, err := os.Lstat(dir); err == nil {
			continue // nearly always; who controls it is looked at by those who use it
		}
		if made, err := private.Make(dir, "."); err == nil { // else what needs it says why
			made.Close()
		}
	}
}

// LoadWith is Load as if the user had written the Candidate of some options, and with their Servers.
func LoadWith(o config.LoadOptions, common cmdline.ConfigFlags, flags cmdline.PolicyFlags, name, tool string, server cmdline.Server) (*Target, error) {
	axes, err := cmdline.ParseWaivers("--waive", common.Waive)
	if err != nil {
		return nil, err
	}
	host, err := hostfs.LocalHost()
	var owner *hostfs.OwnerError
	switch {
	case errors.As(err, &owner):
		return nil, err
	case err != nil:
		return nil, &terminal.HostError{Err: err}
	}
	t := &Target{Host: host}
	t.source.again = func() (*Target, error) { return Resolve(common, flags, name, tool, server) }
	t.source.with = func(tool string, file *config.ServerFile) (*Target, error) {
		return LoadWith(config.LoadOptions{Candidate: file}, common, flags, name, tool, server)
	}
	switch {
	case flags.Preset != "":
		return nil, PresetError(flags.Preset)
	case flags.ID != "":
		t.Policy, err = t.loadID(o, common, flags, name, tool, server, axes)
	case tool != "" && server.Given:
		return nil, terminal.Advise(false, fmt.Errorf("--tool %s is for a configured server; a command after -- has one process for all tools", tool), "leave --tool out")
	case name == "" && !server.Given:
		return nil, terminal.UsageErrorf("name a configured server, or give a command after --\n  mcp-jail run SERVER\n  mcp-jail run [options] -- COMMAND [ARG...]")
	case name != "" && server.Given:
		return nil, terminal.Advise(false, fmt.Errorf("both a configured server (%s) and a command after -- are given", name), "use one of them")
	case server.Given && common.Config != nil:
		return nil, terminal.Advise(false, fmt.Errorf("--config %s would have no effect: a command after -- gets its policy from flags", common.Config[0]), "declare it as a server in that file, and name the server")
	case server.Given:
		t.commandLine = flags.Options(server.Argv)
		t.commandLine.Waive, t.commandLine.Dir = axes, host.Dir
		t.commandLine.Key = KeyOf(host, server.Argv)
		t.commandLine.Name = records.ShortKey(t.commandLine.Key)
		o.ID = t.commandLine.Key
		t.take(o)
		if t.commandLine.Defaults, err = config.LoadDefaults(t.source.options); err != nil {
			return t, &terminal.DefaultsError{Err: err}
		}
		if t.commandLine.File, err = t.source.options.LineFile(); err != nil {
			return nil, &terminal.DefaultsError{Err: err}
		}
		if t.commandLine.File != nil {
			t.commandLine.Name = t.commandLine.File.Server.Name
		}
		t.Policy, err = config.FromCommandLine(t.commandLine)
	default:
		if given := flags.FirstSet(); given != "" {
			return nil, terminal.UsageErrorf("%s is for a command after --; the policy of server %s is in its configuration", given, name)
		}
		t.Policy, err = t.loadConfigured(o, common, name, tool, axes)
	}
	return t, err
}

// KeyOf returns the key of a server without an id, from its words, what they start on a host, and the
// working directory of that.
func KeyOf(host hostfs.Host, words []string) string {
	s := records.Started{Words: words, Dir: host.Dir}
	if len(words) > 0 {
		s.Program, _ = resolve.FindProgram(host, words[0]) // the start reports the error
	}
	if real, err := filepath.EvalSymlinks(host.Dir); err == nil {
		s.Dir = real
	}
	key, _ := records.IDOf(s, nil) // it has no id
	return key
}

// loadID loads the policy of a server with a file of its own.
func (t *Target) loadID(o config.LoadOptions, common cmdline.ConfigFlags, flags cmdline.PolicyFlags, name, tool string, server cmdline.Server, axes []policy.Axis) (*policy.Policy, error) {
	id := flags.ID
	flags.ID = ""
	switch given := flags.FirstSet(); {
	case !records.IsID(id):
		return nil, terminal.Advise(false, fmt.Errorf("--id %s is no id that mcp-jail wrap has made", policy.Abbreviate(id)), "leave --id out, or type `mcp-jail wrap`, which gives an entry of yours an id")
	case name != "" || !server.Given:
		return nil, terminal.UsageErrorf("--id %s belongs to a command after --", policy.Abbreviate(id))
	case common.Config != nil:
		return nil, terminal.UsageErrorf("--id and --config exclude each other: the policy of an id is in its own file")
	case given != "" || axes != nil:
		return nil, terminal.UsageErrorf("%s is for a command without --id: the policy of an id is in its own file, and mcp-jail grant changes it", cmp.Or(given, "--waive"))
	}
	o.ID = id
	t.take(o)
	var cfg *config.Config
	_, err := records.IDOf(records.Started{ID: id, Words: server.Argv}, func(string) (words []string, err error) {
		if cfg, err = config.Load(t.source.options); err != nil {
			return nil, err
		}
		name = cfg.ServerNames()[0]
		return append([]string{cfg.Servers[name].Command}, cfg.Servers[name].Arguments...), nil
	})
	var words *records.WordsError
	if errors.As(err, &words) {
		words.Name = name
		err = terminal.UsageErrorf("%w", err)
	}
	if err != nil {
		return nil, err
	}
	s := *cfg.Servers[name]
	s.Command, s.Arguments = server.Argv[0], server.Argv[1:] // with values in place of its client's variables
	cfg.Servers[name] = &s
	t.setConfig(cfg, name, nil)
	return t.PolicyOf(tool)
}

func (t *Target) loadConfigured(o config.LoadOptions, common cmdline.ConfigFlags, name, tool string, axes []policy.Axis) (*policy.Policy, error) {
	files, err := ExpandHome(common.Config)
	if err != nil {
		return nil, err
	}
	t.Host.Configs = AbsolutePaths(files)
	o.Files = files
	t.take(o)
	cfg, err := LoadConfig(t.source.options, t.Host)
	if err != nil {
		return nil, err
	}
	t.setConfig(cfg, name, axes)
	return t.PolicyOf(tool)
}

// Configured returns the target of a server of a configuration that [LoadConfig] returned. It has
// no policy yet: see Target.PolicyOf and Target.Resolve.
func Configured(host hostfs.Host, cfg *config.Config, name string, axes []policy.Axis) *Target {
	t := &Target{Host: host}
	t.setConfig(cfg, name, axes)
	return t
}

// Resolve resolves the policy of t on its host.
func (t *Target) Resolve() (err error) {
	if err := t.writers().find(); err != nil {
		return err
	}
	if err := t.findPackage(context.Background()); err != nil {
		return err
	}
	if t.Policy.ID != "" && t.Policy.StartIn == "" && t.Package.Entry() == nil {
		t.Policy.StartIn = policy.StartInHome
	}
	t.inJail = findInJail(t)
	t.Package.use(t.Policy)
	t.inJail.use(t.Policy)
	t.Profile, t.Warnings, err = resolveProfile(t.Policy, t.Host, t.Warnings)
	return err
}

func (t *Target) setConfig(cfg *config.Config, name string, axes []policy.Axis) {
	t.Config, t.Warnings = cfg, append(t.Warnings, cfg.Warnings(name)...)
	t.PolicyOf = func(tool string) (*policy.Policy, error) {
		p, err := cfg.Policy(name, tool)
		if err != nil {
			return nil, err
		}
		p.Waive = append(p.Waive, axes...)
		if t.Policy != nil {
			p.Noted, p.StartIn = t.Policy.Noted, t.Policy.StartIn
		}
		t.Package.use(p)
		t.inJail.use(p)
		return p, nil
	}
}

func resolveProfile(p *policy.Policy, host hostfs.Host, before []policy.Warning) (*policy.Profile, []policy.Warning, error) {
	profile, warnings, err := resolve.Resolve(p, host)
	var missing *resolve.CommandError
	if err != nil && !terminal.IsUserError(err) && !errors.As(err, &missing) {
		err = &terminal.HostError{Err: err}
	}
	return profile, append(before, warnings...), err
}

// Compile compiles the profile for this kernel. The launcher finds out only when it starts a jail that
// system calls for mounts are missing, or that macOS's sandbox cannot name a path. Compile asks for both,
// so that no plan is printed which a start could not carry out.
func (t *Target) Compile() (*confine.Plan, error) {
	plan, err := confine.Launcher{}.Compile(t.Profile)
	var open *confine.GapError
	if err != nil && !errors.As(err, &open) {
		return plan, err
	}
	refuse := func(what, why, fix string) {
		g := confine.Gap{Axis: policy.AxisFs, What: what, Why: why, Fix: fix, Fatal: true}
		plan.Gaps = append(plan.Gaps, g)
		if open == nil {
			open = &confine.GapError{}
		}
		open.Gaps, open.Waive = append(open.Gaps, g), nil
	}
	if mounts := confine.Probe().MountAPI; mounts.Answer == confine.No && plan.HostNamespaces.Answer != confine.No {
		refuse("a root of the jail's own", mounts.Detail, mounts.Fix)
	}
	if plan.Seatbelt != nil {
		if _, err := plan.SeatbeltText(t.Profile.Program); err != nil {
			refuse("anything", err.Error(), "rename it, or grant another path")
		}
	}
	if open != nil {
		return plan, open
	}
	return plan, nil
}

// WarningTexts returns warnings as text.
func WarningTexts(ws []policy.Warning) []string {
	out := make([]string, len(ws))
	for i, w := range ws {
		out[i] = w.String()
	}
	return out
}

// Tool returns the target of one tool, with its policy resolved on the host now.
func (t *Target) Tool(name string) (*Target, error) {
	return t.toolOn(name, t.Host)
}

func (t *Target) toolOn(name string, host hostfs.Host) (*Target, error) {
	tool := &Target{Config: t.Config, PolicyOf: t.PolicyOf, Host: t.Host, isTool: true}
	var err error
	if tool.Policy, err = t.PolicyOf(name); err != nil {
		return tool, err
	}
	if tool.Profile, tool.Warnings, err = resolveProfile(tool.Policy, host, nil); err == nil && t.begun {
		_, err = t.takePrograms(tool.Profile)
	}
	return tool, err
}

// toolCache caches the targets of tools. An entry is valid while the host gives the same
// answers as when the target was resolved. Asking again is cheaper than resolving.
type toolCache struct {
	mu     sync.Mutex
	server *Target // the server of the tools in byName
	byName map[string]*cachedTool
}

type cachedTool struct {
	*Target
	lookups hostfs.Recording
	shown   []string // what its jail shows of the host beyond what every jail does, or nil: all counts
}

// maxCachedTools bounds the cache: the answers of a host with a large workspace are many.
const maxCachedTools = 32

// shown returns what the jail of a target shows, or nil if a rule's path is missing: it may be there at the next call.
func shown(t *Target) (paths []string) {
	for _, r := range t.Policy.Fs {
		named := func(e policy.Entry) bool { return e.Named == r.Path }
		if r.Rights() != 0 && !slices.ContainsFunc(t.Profile.Entries, named) {
			return nil
		}
	}
	for _, e := range t.Profile.Entries {
		if e.Rights != 0 && (e.Rule != resolve.BaselineRule || t.Host.OS != "linux") {
			paths = append(paths, e.Path)
		}
	}
	for _, l := range t.Profile.Links {
		paths = append(paths, l.Path)
	}
	return paths
}

// get returns the target of a tool of a server. With runs, it is for a process that runs already, and only what its
// jail shows must be as it was: a secret that came later is there. A change elsewhere, such as a new core.hooksPath of
// git, can only hide or protect what was in reach before the change. On Linux the system's own files, which every jail
// shows, are root's.
func (k *toolCache) get(server *Target, name string, runs bool) (*Target, error) {
	k.mu.Lock()
	if k.server != server {
		k.server, k.byName = server, nil
	}
	known := k.byName[name]
	k.mu.Unlock()
	if known != nil {
		var about []string
		if runs {
			about = known.shown
		}
		if known.lookups.Unchanged(about...) {
			return known.Target, nil
		}
	}
	// Resolving takes long, so other calls do not wait for it.
	found := &cachedTool{}
	var err error
	if found.Target, err = server.toolOn(name, found.lookups.Record(server.Host)); err != nil {
		return found.Target, err
	}
	found.shown = shown(found.Target)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.server != server { // the configuration has changed meanwhile
		return found.Target, nil
	}
	if k.byName == nil || len(k.byName) == maxCachedTools {
		k.byName = make(map[string]*cachedTool)
	}
	k.byName[name] = found
	return found.Target, nil
}
