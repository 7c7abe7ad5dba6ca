package main

import (
	"context"
	"errors"
	"os"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// target is one server as the command line and the configuration describe it, with its
// policy resolved on this host. It is not yet compiled for the kernel.
type target struct {
	config      *config.Config                            // nil for a command behind --
	policyOf    func(tool string) (*policy.Policy, error) // nil for a command behind --
	commandLine config.CommandLineOptions                 // for a command behind --
	invocation  []string                                  // the command line of mcp-jail, for a command behind --
	policy      *policy.Policy
	profile     *policy.Profile
	warnings    []policy.Warning
	host        hostfs.Host
	isTool      bool              // for one tool, or for the tools without a table
	pkg         *installedPackage // nil if the command is no package launcher
	given       []string          // the command as it was given, before a program of a package replaced it
}

// warningTexts returns the warnings of the target as text.
func (t *target) warningTexts() []string {
	out := warningTexts(t.warnings)
	for i, w := range t.warnings {
		if t.policy.FromCommandLine && w.Where == t.policy.Where {
			out[i] = w.Message // its place would be "the command line"
		}
		out[i] = printable(out[i]) // it may contain file names
	}
	if w := t.unreachableArguments(); w != "" {
		out = append(out, printable(w))
	}
	return out
}

// unreachableArguments returns a warning about arguments that name files which the server
// cannot reach, or "". For a stateless server these are the files that none of its
// processes can reach.
func (t *target) unreachableArguments() string {
	if t.profile == nil || t.isTool {
		return ""
	}
	w := diagnostics.Arguments(t.evidence())
	if w == "" || t.policy.Stateful {
		return w
	}
	var tools []*policy.Profile
	for _, name := range t.config.DeclaredTools(t.policy.Server) {
		if tool, err := t.toolTarget(name); err == nil {
			tools = append(tools, tool.profile)
		}
	}
	return diagnostics.Arguments(t.evidence(), tools...)
}

// evidence returns what a diagnosis needs to know of the server and the host.
func (t *target) evidence() diagnostics.Evidence {
	return diagnostics.Evidence{
		Server: t.profile.Server, Profile: t.profile, FromCommandLine: t.policy.FromCommandLine, Stateless: !t.policy.Stateful, CommandLine: t.invocation, Declare: t.declaration,
		UserHome: t.host.Home, SearchPath: os.Getenv("PATH"), Exists: pathExists, Executable: isExecutable, Canonical: resolveLinks,
	}
}

// isExecutable reports whether the file at path has an execute bit.
func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&0o111 != 0
}

// declaration returns the configuration lines that declare a server given behind --. The
// first is a comment with the file.
func (t *target) declaration() []string {
	return append([]string{"# " + config.UserConfigFile(t.host)}, t.commandLine.Declaration()...)
}

// pathExists reports whether path exists outside the jail.
func pathExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// resolveTarget loads and resolves the policy of a server: the configured server name, or
// the command behind -- if name is "". With an error the target is nil or holds what was
// found before.
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
		return nil, usageErrorf("--tool %s is for a configured server; a command behind -- has one process for all tools", tool)
	case name == "" && !server.given:
		return nil, usageErrorf("name a configured server, or give a command behind --\n  mcp-jail run SERVER\n  mcp-jail run [flags] -- COMMAND [ARG...]")
	case name != "" && server.given:
		return nil, usageErrorf("both a configured server (%s) and a command behind -- are given; use one", name)
	case server.given && common.Config != nil:
		return nil, usageErrorf("--config %s would have no effect: a command behind -- gets its policy from flags; declare it as a server in that file, and name the server", common.Config[0])
	case server.given:
		t.commandLine = config.CommandLineOptions{
			Command: server.argv, Workspace: flags.Workspace, Read: flags.Read, Write: flags.Write, Execute: flags.Execute,
			Net: flags.Net, Env: flags.Env, Limit: flags.Limit, Home: flags.Home, Name: flags.Name, Startup: flags.Startup, Waive: axes, Dir: host.Dir,
		}
		t.policy, err = config.FromCommandLine(t.commandLine)
		t.invocation = server.invocation
	default:
		if given := flags.firstSet(); given != "" {
			return nil, usageErrorf("%s is for a command behind --; the policy of server %s is in its configuration", given, name)
		}
		t.policy, err = t.loadConfigured(common, flags, name, tool, axes)
	}
	if err == nil {
		err = t.findPackage(context.Background())
	}
	if err == nil {
		t.profile, t.warnings, err = resolveProfile(t.policy, t.host, t.warnings)
	}
	if server.given && isUserError(err) {
		err = usageErrorf("%s", err) // the whole policy comes from the command line
	}
	return t, err
}

func (t *target) loadConfigured(common commonFlags, flags policyFlags, name, tool string, axes []policy.Axis) (*policy.Policy, error) {
	files, err := expandHome(common.Config)
	if err != nil {
		return nil, err
	}
	t.host.Configs = absolutePaths(files)
	cfg, err := config.Load(config.LoadOptions{Files: files, Workspace: flags.Workspace})
	if err != nil {
		return nil, err
	}
	t.setConfig(cfg, name, flags.Workspace, axes)
	return t.policyOf(tool)
}

// setConfig makes t a target for the configured server name.
func (t *target) setConfig(cfg *config.Config, name, workspace string, axes []policy.Axis) {
	t.config, t.warnings = cfg, append(t.warnings, cfg.DroppedGrants(name)...)
	if s := cfg.Servers[name]; s != nil && workspace != "" {
		s.Workspace = workspace // for all of its processes
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

// compile compiles the profile for this kernel. The launcher finds out about missing mount
// system calls only when it starts a jail. compile asks for them, so that no plan is
// printed which a start could not carry out.
func (t *target) compile() (*confine.Plan, error) {
	plan, err := confine.Launcher{}.Compile(t.profile)
	var open *confine.GapError
	if err != nil && !errors.As(err, &open) {
		return plan, err
	}
	features := confine.Probe()
	if mounts := features.MountAPI; mounts.Answer == confine.No && plan.HostNamespaces.Answer != confine.No {
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
