package resolve

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/command"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/entries"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/masks"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/places"
)

type (
	// CommandError reports why a server's program cannot be started, before anything runs: stage
	// "exec" of a failure.
	CommandError = command.Error
	// WorkspaceError reports a workspace that was named and cannot be used.
	WorkspaceError = places.WorkspaceError
	// GitConfigError reports a git configuration that is too large to find out what git runs.
	GitConfigError = masks.GitConfigError
)

// RuleError reports a rule that cannot be resolved on this host.
type RuleError struct {
	Rule   string // file:line: path = "..."
	Reason string
}

func (e *RuleError) Error() string { return e.Rule + ": " + e.Reason }

// BesideError reports a rule that a preset made for the directory around a file, where that directory
// is not for one server alone.
type BesideError struct{ *RuleError }

func (e *BesideError) Unwrap() error { return e.RuleError }

// HostSocket is the Entry.Named of a UNIX socket that was in a granted directory at the start, and that
// no rule names.
const HostSocket = masks.HostSocket

// ErrPlatform is returned by Resolve on a host whose paths it does not understand.
var ErrPlatform = errors.New("paths of this operating system are not supported")

// Resolve turns a policy into the profile of this host, once, at the start of a server. All
// that a profile has from the host comes from here. Resolve changes nothing on the host.
//
// Invariants of the profile: Entries is sorted by Path without duplicates. Each Path is
// canonical. No rule is in vain, and no two entries contradict each other in a way that a mount cannot
// express (else the error is a *[policy.ConflictError]). The profile depends only on the policy and
// the host, not on the order of maps or the locale.
//
// The errors to expect are *[CommandError], *[RuleError], *[WorkspaceError],
// *[GitConfigError], *[policy.ConflictError] and [policy.Problems].
func Resolve(p *policy.Policy, host hostfs.Host) (*policy.Profile, []policy.Warning, error) {
	out, ws, err := resolveOne(p, host)
	if err != nil || p.Narrow == nil {
		return out, ws, err
	}
	by, more, err := resolveOne(p.Narrowed(), host)
	for _, w := range more {
		if strings.HasPrefix(w.Code, "missing-") && !slices.Contains(ws, w) { // others say what a rule would grant
			ws = append(ws, w)
		}
	}
	if err != nil {
		return nil, ws, err
	}
	if out, err = policy.Meet(out, by); err != nil {
		return nil, ws, err
	}
	state(out)
	return out, ws, nil
}

func resolveOne(p *policy.Policy, host hostfs.Host) (*policy.Profile, []policy.Warning, error) {
	if host.OS == "windows" {
		return resolveCoarse(p, &host)
	}
	return resolveUnix(p, host)
}

func resolveUnix(p *policy.Policy, host hostfs.Host) (*policy.Profile, []policy.Warning, error) {
	if !strings.HasPrefix(host.Home, "/") || !strings.HasPrefix(host.Dir, "/") {
		return nil, nil, fmt.Errorf("%w (home %q, working directory %q)", ErrPlatform, host.Home, host.Dir)
	}
	net, err := p.Normalize()
	if err != nil {
		return nil, nil, err
	}
	b := newResolver(p, &host)
	b.collectGuarded()
	b.warnSpecialHosts(net)
	out := b.newProfile(net)
	if out.Workspace, err = b.resolveWorkspace(); err != nil {
		return nil, b.warnings.list, err
	}
	if out.Home, err = b.resolveHome(); err != nil {
		return nil, b.warnings.list, err
	}
	b.writers.collectWriters(out) // before the rules: whether a link counts depends on which server may replace it
	if err := b.placeRules(out.Workspace); err != nil {
		return nil, b.warnings.list, err
	}
	c := b.commandResolver(out)
	if err := b.findProgram(c, out); err != nil {
		return nil, b.warnings.list, err
	}
	b.listPrograms(c, out)
	out.Parts = b.programParts(c)
	b.addBaseline(c)
	b.links = append(b.links, c.Links...)
	b.addPrivateHome(out)
	b.sums.mask()
	if failed := b.masks.Git.Failed; failed != nil {
		return nil, b.warnings.list, failed
	}
	authorities := (&authorities{b.facts, b.writers, &b.links}).grant(out.Net)
	out.GitConfig = b.gitConfig(out)
	b.denyMissing() // now every entry is there that could cover a missing path
	b.warnUseless()
	b.masks.WarnNamed()
	out.Entries = b.sums.changing().Sorted()
	if err := policy.FindConflict(out.Entries); err != nil {
		return nil, b.warnings.list, err
	}
	out.Unprotected, out.GitDirs = b.unprotectedNames(), b.masks.Git.Dirs(out)
	out.IgnoreCase, out.LinksAstray = (&caseFolding{b.facts, map[string]bool{}}).directories(), b.masks.LinksAstray
	if out.Dir, err = b.workingDirectory(out); err != nil {
		return nil, b.warnings.list, err
	}
	out.HomeLinks, out.ListOnly = b.homeLinks(), b.listOnly(out, c)
	if err := b.buildEnvironment(out, c, authorities); err != nil {
		return nil, b.warnings.list, err
	}
	out.Links = b.visibleLinks(out)
	if b.writers.reach.Protected == nil && slices.ContainsFunc(out.Net, policy.NetRule.NeedsInterception) {
		b.writers.collectProtected() // the search for mcp-jail-tls needs them
	}
	out.Reach = b.writers.reach
	return out, b.warnings.list, nil
}

func newResolver(p *policy.Policy, h *hostfs.Host) *resolver {
	h = h.Slashed()
	paths := hostfs.NewLinkResolver(h)
	f := &facts{p: p, h: h, paths: paths, places: places.New(p, h, paths), entries: make(entries.Set, 56), warnings: &warningList{}}
	return &resolver{facts: f, writers: &writers{facts: f}, searched: map[string]bool{}, sums: &sums{facts: f, rules: map[string][]entries.Target{}, base: map[string]policy.Rights{}}}
}

func (b *resolver) newProfile(net []policy.NetRule) *policy.Profile {
	p := b.p
	limits, _ := p.Limits.OrDefault() // Normalize has refused what is wrong
	out := &policy.Profile{
		Server: p.Server, Tool: p.Tool, Argv: append([]string{p.Command}, p.Arguments...), Default: p.Default,
		HomePrivate: !p.HomeReal, Net: net, Inbound: p.InboundPorts(), OptionalInbound: p.OptionalInboundPorts(), Limits: limits, Waive: policy.SortAxes(p.Waive), Startup: p.Startup, Call: p.Call, Roots: p.Roots, Undo: p.Undo, Leaks: p.Leaks, LeakPatterns: p.LeakPatterns,
	}
	if out.Roots == "" {
		out.Roots = "off"
	}
	return out
}

func (b *resolver) findProgram(c *command.Resolver, out *policy.Profile) (err error) {
	args := b.p.Arguments
	if b.p.Packages.Tree != "" {
		// Words of a #! line of the package may be among the rest. The tree is granted below.
		args = args[:min(b.p.Packages.Outer, len(args))]
	}
	if out.Program, err = c.Start(b.p.Command, args); err != nil {
		return err
	}
	if c.StartedAs != "" {
		// Programs such as Python find their files by this name, and the jail has no shim.
		out.Argv[0] = c.StartedAs
	}
	if tree := b.p.Packages.Tree; tree != "" {
		c.AddDependency(tree, "the installed package", false)
		c.AddToolScript(b.p.Arguments)
	}
	for _, l := range c.EscapingLinks {
		b.warnings.warn("stray-script", b.p.Where, "%s leads out of the workspace to %s, which a link does not grant: name that path itself", l.Path, l.Target)
	}
	return nil
}

// unprotectedNames returns the unprotected names that the server could create. In a
// directory that turned out to be read-only it could not.
func (b *resolver) unprotectedNames() (names []string) {
	for _, u := range slices.Sorted(maps.Keys(b.masks.Unprotected)) {
		if e, ok := b.entries.Find(path.Dir(u)); ok && e.Rights&policy.Write != 0 {
			names = append(names, u)
		}
	}
	return names
}

// facts are what the parts of a resolution share.
type facts struct {
	p        *policy.Policy
	h        *hostfs.Host
	paths    *hostfs.LinkResolver
	places   *places.Places
	entries  entries.Set
	warnings *warningList
}

// A resolver makes one profile.
type resolver struct {
	*facts
	writers *writers
	masks   *masks.Masks // made when the rules are placed
	sums    *sums

	searched       map[string]bool  // baseline entries to search for .env files
	targets        []entries.Target // the rules whose path exists or is made
	missing        []missingRule
	neverWiden     []string
	links          []policy.Link
	workspaceLinks []policy.Link // crossed on the way to the workspace
}

type missingRule struct {
	path         string
	unsearchable string // the directory on the way that cannot be looked into
	rule         policy.FsRule
}
