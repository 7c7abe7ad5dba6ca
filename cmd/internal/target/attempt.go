package target

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// Attempt returns why the server, or one of its tools, would not start if lines were pasted at the end of
// its configuration, or flags were added to its command line. It returns nil if the server does not
// start without them either. The error is [diagnostics.ErrTable] if the lines are right, and the
// file has their table already.
func (t *Target) Attempt(tool string, lines, flags []string) error {
	attempt := t.withLines
	if t.Config == nil && len(flags) > 0 {
		attempt, lines = t.withFlags, flags
	}
	err := t.starts(attempt(tool, lines))
	if err == nil || t.starts(attempt(tool, nil)) != nil {
		return nil
	}
	if t.Config != nil && t.starts(t.withLayer(tool, lines)) == nil {
		return diagnostics.ErrTable
	}
	return err
}

// guarded returns what a grant of a path would give a hold on: see [resolve.Guarded].
func (t *Target) guarded(path string, write bool) string {
	return resolve.Guarded(&t.Host, path, write)
}

// shared returns why a directory is not for one server alone: see [resolve.Shared].
func (t *Target) shared(dir string) string { return resolve.Shared(&t.Host, t.Policy, dir) }

// sensitive returns the sensitive path that a path belongs to: see [resolve.Sensitive].
func (t *Target) sensitive(path string) string { return resolve.Sensitive(&t.Host, t.Policy, path) }

// starts returns why a policy cannot be resolved on this host, or not enforced by this kernel. What
// this host cannot enforce of any policy does not count: a running mcp-jail cannot find that out again.
func (t *Target) starts(p *policy.Policy, err error) error {
	if err != nil {
		return err
	}
	t.usePackage(p)
	profile, _, err := resolve.Resolve(p, t.Host)
	if err != nil {
		return err
	}
	var gaps *confine.GapError
	if _, err = (confine.Launcher{}).Compile(profile); errors.As(err, &gaps) {
		return nil
	}
	return err
}

// withFlags returns the policy of a server that is declared on the command line, with more flags.
func (t *Target) withFlags(_ string, flags []string) (*policy.Policy, error) {
	o := t.commandLine
	lists := map[string]*[]string{"--read": &o.Read, "--write": &o.Write, "--execute": &o.Execute, "--net": &o.Net, "--env": &o.Env, "--limit": &o.Limit}
	for ; len(flags) > 1; flags = flags[2:] {
		list, known := lists[flags[0]]
		switch {
		case known:
			*list = append((*list)[:len(*list):len(*list)], flags[1])
		case flags[0] == "--workspace":
			o.Workspace = flags[1]
		default:
			return nil, fmt.Errorf("%s is no flag that grants", flags[0])
		}
	}
	return config.FromCommandLine(o)
}

// withLines returns the policy of a server or tool with lines at the end of the file that declares
// the server. If the command line declares it, that file has its declaration alone.
func (t *Target) withLines(tool string, lines []string) (*policy.Policy, error) {
	text := strings.Join(lines, "\n")
	if t.Config == nil {
		cfg, err := config.Decode([]byte("version = 1\n"+strings.Join(t.declaration(), "\n")+"\n"+text), "the configuration")
		if err == nil {
			err = LayPresets(cfg, t.Host)
		}
		if err != nil {
			return nil, err
		}
		return cfg.Policy(t.Policy.Server, "")
	}
	o := t.source.options
	o.Into, _ = policy.SplitPosition(t.Config.Servers[t.Policy.Server].Where)
	o.Pasted = text
	return t.again(o, tool)
}

// withLayer returns the policy of a server or tool with lines in a file of their own.
func (t *Target) withLayer(tool string, lines []string) (*policy.Policy, error) {
	o := t.source.options
	o.Pasted = strings.Join(lines, "\n")
	return t.again(o, tool)
}

// again returns the policy of a server or tool of a configuration that is read again.
func (t *Target) again(o config.LoadOptions, tool string) (*policy.Policy, error) {
	cfg, err := LoadConfig(o, t.Host)
	if err != nil {
		return nil, err
	}
	if o.Workspace != "" {
		cfg.SetWorkspace(t.Policy.Server, o.Workspace)
	}
	p, err := cfg.Policy(t.Policy.Server, tool)
	if err == nil {
		p.Waive = append(p.Waive, t.Policy.Waive...)
	}
	return p, err
}
