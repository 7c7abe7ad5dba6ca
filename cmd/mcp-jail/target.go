package main

import (
	"errors"
	"os"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// target is one server as the command line and the configuration describe it:
// resolved against this host, not yet compiled for its kernel.
type target struct {
	config      *config.Config                            // nil for a command given in place
	policyOf    func(tool string) (*policy.Policy, error) // of a configured server; nil for one given in place
	commandLine config.InPlaceOptions                     // of one given in place
	invocation  []string                                  // by which that is started
	policy      *policy.Policy
	profile     *policy.Profile
	warnings    []policy.Warning
	host        hostfs.Host
	isTool      bool // of one tool, or of those without a table
}

// warningTexts are the warnings in words.
func (t *target) warningTexts() []string {
	out := warningTexts(t.warnings)
	for i, w := range t.warnings {
		if t.policy.InPlace && w.Where == t.policy.Where {
			out[i] = w.Message // "the command line" tells nobody where to look
		}
		out[i] = printable(out[i]) // names of files stand in it
	}
	if w := t.unreachableArguments(); w != "" {
		out = append(out, printable(w))
	}
	return out
}

// unreachableArguments warns of arguments that the server cannot reach: of a stateless one, with
// none of its processes.
func (t *target) unreachableArguments() string {
	if t.profile == nil || t.isTool {
		return ""
	}
	w := diagnostics.Arguments(t.evidence())
	if w == "" || t.policy.Stateful {
		return w
	}
	var tools []*policy.Profile
	for _, name := range t.config.Declared(t.policy.Server) {
		if tool, err := t.toolTarget(name); err == nil {
			tools = append(tools, tool.profile)
		}
	}
	return diagnostics.Arguments(t.evidence(), tools...)
}

// evidence is what a diagnosis has to know of the server and its host.
func (t *target) evidence() diagnostics.Evidence {
	return diagnostics.Evidence{
		Server: t.profile.Server, Profile: t.profile, FromCommandLine: t.policy.InPlace, Stateless: !t.policy.Stateful, CommandLine: t.invocation, Declare: t.declaration,
		UserHome: t.host.Home, SearchPath: os.Getenv("PATH"), Exists: pathExists, Executable: isExecutable, Canonical: resolveLinks,
	}
}

// isExecutable tells whether the file at path may be executed by anybody.
func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&0o111 != 0
}

// declaration are the lines that declare a server given in place, and where.
func (t *target) declaration() []string {
	return append([]string{"# " + config.UserConfigFile(t.host)}, t.commandLine.Declare()...)
}

// pathExists tells whether there is anything at path, outside of the jail.
func pathExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// resolveTarget follows the way of the data up to the profile. name is a configured
// server, or "" with a command given in place. With an error the target holds
// what was found until then, or is nil.
func resolveTarget(common commonFlags, flags policyFlags, name, tool string, server serverCommand) (*target, error) {
	axes, err := common.axes()
	if err != nil {
		return nil, err
	}
	host, err := hostfs.LocalHost()
	if err != nil {
		return nil, &hostError{err}
	}
	t := &target{host: host}
	switch {
	case tool != "" && server.given:
		return nil, usageErrorf("--tool %s is for a configured server; one that is given in place is a single process", tool)
	case name == "" && !server.given:
		return nil, usageErrorf("name a configured server, or give a command behind --\n  mcp-jail run SERVER\n  mcp-jail run [flags] -- COMMAND [ARG...]")
	case name != "" && server.given:
		return nil, usageErrorf("both a configured server (%s) and a command behind -- are given; use one", name)
	case server.given && common.Config != nil:
		return nil, usageErrorf("--config %s would not be used: a command behind -- gets its policy from the flags; declare it as a server in that file, and name the server", common.Config[0])
	case server.given:
		t.commandLine = config.InPlaceOptions{
			Command: server.argv, Workspace: flags.Workspace, Read: flags.Read, Write: flags.Write, Execute: flags.Execute,
			Net: flags.Net, Env: flags.Env, Limit: flags.Limit, Home: flags.Home, Name: flags.Name, Startup: flags.Startup, Waive: axes, Dir: host.Dir,
		}
		t.policy, err = config.InPlace(t.commandLine)
		t.invocation = server.invocation
	default:
		if given := flags.firstSet(); given != "" {
			return nil, usageErrorf("%s is for a command behind --; the policy of server %s stands in its configuration", given, name)
		}
		t.policy, err = t.loadConfigured(common, flags, name, tool, axes)
	}
	if err == nil {
		t.profile, t.warnings, err = resolveProfile(t.policy, t.host, t.warnings)
	}
	if server.given && isUserError(err) {
		err = usageErrorf("%s", err) // all of its policy stands on the command line
	}
	return t, err
}

func (t *target) loadConfigured(common commonFlags, flags policyFlags, name, tool string, axes []policy.Axis) (*policy.Policy, error) {
	files, err := expandHome(common.Config)
	if err != nil {
		return nil, err
	}
	t.host.Configs = absolutePaths(files)
	cfg, warnings, err := config.Load(config.LoadOptions{Files: files, Workspace: flags.Workspace})
	t.warnings = warnings
	if err != nil {
		return nil, err
	}
	t.setConfig(cfg, name, flags.Workspace, axes)
	return t.policyOf(tool)
}

// setConfig makes t the target of a configured server.
func (t *target) setConfig(cfg *config.Config, name, workspace string, axes []policy.Axis) {
	t.config, t.warnings = cfg, append(t.warnings, cfg.Untaken(name)...)
	if s := cfg.Servers[name]; s != nil && workspace != "" {
		s.Workspace = workspace // of all of its processes
	}
	t.policyOf = func(tool string) (*policy.Policy, error) {
		p, err := cfg.Policy(name, tool)
		if err != nil {
			return nil, err
		}
		p.Waive = append(p.Waive, axes...)
		return p, nil
	}
}

func resolveProfile(p *policy.Policy, host hostfs.Host, before []policy.Warning) (*policy.Profile, []policy.Warning, error) {
	profile, warnings, err := resolve.Resolve(p, host)
	var missing *resolve.CommandError
	if err != nil && !isUserError(err) && !errors.As(err, &missing) {
		err = &hostError{err}
	}
	return profile, append(before, warnings...), err
}

// compile says what a start would do on this host. The launcher itself only
// tries some things that it needs; here they are asked for, so that no plan is
// printed as one that holds and then cannot be carried out.
func (t *target) compile() (*confine.Plan, error) {
	plan, err := confine.Launcher{}.Compile(t.profile)
	var open *confine.GapError
	if err != nil && !errors.As(err, &open) {
		return plan, err
	}
	features := confine.Probe()
	if mounts := features.MountAPI; mounts.Answer == confine.No && plan.Bare.Answer != confine.No {
		g := confine.Gap{Axis: policy.AxisFs, What: "a root of the jail's own", Why: mounts.Detail, Fix: mounts.Fix, Fatal: true}
		plan.Gaps = append(plan.Gaps, g)
		if open == nil {
			open = &confine.GapError{}
		}
		open.Gaps = append(open.Gaps, g)
	}
	if open != nil {
		return plan, open
	}
	return plan, nil
}
