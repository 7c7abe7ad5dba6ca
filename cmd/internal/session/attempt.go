package session

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// Attempt returns why the server, or one of its tools, would not start if lines were pasted at the end of
// its configuration, or flags were added to its command line. It returns nil if the server does not
// start without them either. The error is a [diagnostics.TableError] if the lines are right, and the
// file has their table already.
func (t *Target) Attempt(tool string, lines, flags []string) error {
	a := attempt{host: t.Host, policy: t.Policy, pkg: t.Package, config: t.Config, options: t.source.options, commandLine: t.commandLine}
	with := a.withLines
	if a.config == nil && len(flags) > 0 {
		with, lines = a.withFlags, flags
	}
	err := a.starts(with(tool, lines))
	if err == nil {
		return nil
	}
	// If it does not start without them either, they are not the reason.
	before := a.starts(with(tool, nil))
	if !isNew(err, before) {
		return nil
	}
	// In another file their table cannot be there twice.
	if a.config != nil && !isNew(a.starts(a.withLayer(tool, lines)), before) {
		return a.taken(lines)
	}
	return err
}

// isNew reports whether err is more than what was there before. What this host cannot enforce of any
// policy does not count: a running mcp-jail cannot find that out again.
func isNew(err, before error) bool {
	var gaps, known *confine.GapError
	switch {
	case err == nil || before != nil && !errors.As(before, &known):
		return false
	case !errors.As(err, &gaps):
		return true
	}
	return slices.ContainsFunc(gaps.Gaps, func(g confine.Gap) bool {
		// Without namespaces no port leads in, and a running mcp-jail does not know whether it can have them.
		if known != nil && known.HostNamespaces.Answer == confine.No && g.Axis == policy.AxisNet {
			return false
		}
		return known == nil || !slices.ContainsFunc(known.Gaps, func(k confine.Gap) bool {
			return k.Axis == g.Axis && holds(k) == holds(g) && slices.Equal(k.Paths, g.Paths)
		})
	})
}

// holds returns what a gap does not hold. Of a limit that is without the number, which a line may raise.
func holds(g confine.Gap) string {
	if g.Axis == policy.AxisLimits {
		what, _, _ := strings.Cut(g.What, " = ")
		return what
	}
	return g.What
}

// attempt has what decides whether a server starts.
type attempt struct {
	host        hostfs.Host
	policy      *policy.Policy
	pkg         *Package
	config      *config.Config            // nil for a command after --
	options     config.LoadOptions        // with which config was loaded
	commandLine config.CommandLineOptions // for a command after --
}

// starts returns why a policy cannot be resolved on this host, or not enforced by this kernel.
func (a *attempt) starts(p *policy.Policy, err error) error {
	if err != nil {
		return err
	}
	a.pkg.use(p)
	profile, _, err := resolve.Resolve(p, a.host)
	if err != nil {
		return err
	}
	_, err = (confine.Launcher{}).Compile(profile)
	return err
}

func (a *attempt) withFlags(_ string, flags []string) (*policy.Policy, error) {
	o := a.commandLine
	lists := map[string]*[]string{"--read": &o.Read, "--write": &o.Write, "--execute": &o.Execute, "--net": &o.Net, "--inbound": &o.Inbound, "--env": &o.Env, "--limit": &o.Limit}
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
func (a *attempt) withLines(tool string, lines []string) (*policy.Policy, error) {
	text := strings.Join(lines, "\n")
	if a.config == nil {
		cfg, err := config.Decode([]byte("version = 1\n"+strings.Join(declaration(a.host, a.commandLine), "\n")+"\n"+text), "the configuration")
		if err == nil {
			err = LayPresets(cfg, a.host)
		}
		if err != nil {
			return nil, err
		}
		return cfg.Policy(a.policy.Server, "")
	}
	o := a.options
	o.Into, _ = policy.SplitPosition(a.config.Servers[a.policy.Server].Where)
	o.Pasted = text
	return a.again(o, tool)
}

// taken says what the server's file has of the table of lines already.
func (a *attempt) taken(lines []string) error {
	file, _ := policy.SplitPosition(a.config.Servers[a.policy.Server].Where)
	data, err := os.ReadFile(file)
	if err != nil {
		return &diagnostics.TableError{}
	}
	t, _ := config.TakenBy(data, strings.Join(lines, "\n"))
	return &diagnostics.TableError{Taken: diagnostics.Taken(t)}
}

func (a *attempt) withLayer(tool string, lines []string) (*policy.Policy, error) {
	o := a.options
	o.Pasted = strings.Join(lines, "\n")
	return a.again(o, tool)
}

func (a *attempt) again(o config.LoadOptions, tool string) (*policy.Policy, error) {
	cfg, err := LoadConfig(o, a.host)
	if err != nil {
		return nil, err
	}
	p, err := cfg.Policy(a.policy.Server, tool)
	if err == nil {
		p.Waive = append(p.Waive, a.policy.Waive...)
	}
	return p, err
}
