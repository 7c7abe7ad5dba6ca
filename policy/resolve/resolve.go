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

// WorkspaceError reports a workspace that was named and cannot be used.
type WorkspaceError struct {
	Workspace string // as written
	Reason    string
	Where     string
}

func (e *WorkspaceError) Error() string {
	return strings.TrimPrefix(e.Where+": ", ": ") + fmt.Sprintf("the workspace %q %s", e.Workspace, e.Reason)
}

// ErrPlatform is returned by Resolve on a host whose paths it does not understand.
var ErrPlatform = errors.New("paths of this operating system are not supported")

// Resolve turns a policy into the profile of this host, once, at the start of a server. All
// that a profile has from the host comes from here. Resolve changes nothing on the host.
//
// Invariants of the profile: Entries is sorted by Path without duplicates. Each Path is
// canonical. No two entries contradict each other in a way that a mount cannot express
// (else the error is a *[policy.ConflictError]). The profile depends only on the policy and
// the host, not on the order of maps or the locale.
//
// The errors to expect are *[CommandError], *[RuleError], *[WorkspaceError],
// *[GitConfigError], *[policy.ConflictError] and [policy.Problems].
func Resolve(p *policy.Policy, host hostfs.Host) (*policy.Profile, []policy.Warning, error) {
	if host.OS == "windows" || !strings.HasPrefix(host.Home, "/") || !strings.HasPrefix(host.Dir, "/") {
		return nil, nil, fmt.Errorf("%w (home %q, working directory %q)", ErrPlatform, host.Home, host.Dir)
	}
	net, err := p.Normalize()
	if err != nil {
		return nil, nil, err
	}
	b := newResolver(p, &host)
	b.collectGuarded()
	b.collectDeciding()
	b.warnSpecialHosts(net)
	out := b.newProfile(net)
	if out.Workspace, err = b.resolveWorkspace(); err != nil {
		return nil, b.warnings, err
	}
	if out.Home, err = b.resolveHome(); err != nil {
		return nil, b.warnings, err
	}
	b.collectWriters(out)
	if err := b.placeRules(out.Workspace); err != nil {
		return nil, b.warnings, err
	}
	c := b.commandResolver(out)
	if err := b.findProgram(c, out); err != nil {
		return nil, b.warnings, err
	}
	b.listPrograms(c, out)
	out.Parts = b.programParts(c)
	b.addBaseline(c.dependencies)
	b.links = append(b.links, c.links...)
	b.addPrivateHome(out)
	b.hideSensitive()
	b.protectFixed()
	b.scan()
	b.protectBaseline()
	if b.git.failed != nil {
		return nil, b.warnings, b.git.failed
	}
	b.denyMissing()
	b.warnUseless()
	b.warnDeciding()
	out.Entries = b.entries()
	if err := policy.FindConflict(entryGrants(out.Entries)); err != nil {
		return nil, b.warnings, err
	}
	out.Unprotected, out.HiddenLater, out.GitDirs = b.unprotectedNames(), sorted(b.hiddenLater), b.gitDirs(out)
	out.Folded = b.foldedNames(out.Unprotected)
	out.LinksAstray = b.linksAstray
	out.Dir = b.workingDirectory(out)
	if err := b.buildEnvironment(out, c); err != nil {
		return nil, b.warnings, err
	}
	out.Links = b.visibleLinks(out)
	if b.reach.Protected == nil && slices.ContainsFunc(out.Net, policy.NetRule.NeedsInterception) {
		b.collectProtected() // the search for mcp-jail-tls needs them
	}
	out.Reach = b.reach
	return out, b.warnings, nil
}

func newResolver(p *policy.Policy, h *hostfs.Host) *resolver {
	return &resolver{p: p, h: h, paths: hostfs.NewLinkResolver(h), byPath: make(map[string]policy.Entry, 56), searched: map[string]bool{}, unprotected: map[string]bool{}, caseInsensitive: map[string]bool{}}
}

// newProfile returns the profile with the parts that do not depend on the host.
func (b *resolver) newProfile(net []policy.NetRule) *policy.Profile {
	p := b.p
	limits, _ := p.Limits.OrDefault() // Normalize has refused what is wrong
	out := &policy.Profile{
		Server: p.Server, Tool: p.Tool, Argv: append([]string{p.Command}, p.Arguments...), Default: p.Default,
		HomePrivate: !p.HomeReal, Net: net, Inbound: p.InboundPorts(), Limits: limits, Waive: policy.SortAxes(p.Waive), Startup: p.Startup, Call: p.Call, Roots: p.Roots, Advertise: p.Advertise, Undo: p.Undo, Leaks: p.Leaks, LeakPatterns: p.LeakPatterns,
	}
	if out.Roots == "" {
		out.Roots = "off"
	}
	return out
}

// findProgram finds the program of the server, and warns of links that lead out of the
// workspace.
func (b *resolver) findProgram(c *commandResolver, out *policy.Profile) (err error) {
	args := b.p.Arguments
	if b.p.Packages.Tree != "" {
		args = nil // words of a #! line of the package may be among them; the tree is granted below
	}
	if out.Program, err = c.start(b.p.Command, args); err != nil {
		return err
	}
	if c.startedAs != "" {
		// Programs such as Python find their files by this name, and the jail has no shim.
		out.Argv[0] = c.startedAs
	}
	if tree := b.p.Packages.Tree; tree != "" {
		c.addDependency(tree, "the installed package", false)
	}
	if err := b.checkHeld(c, out); err != nil {
		return err
	}
	for _, l := range c.escapingLinks {
		b.warn("stray-script", b.p.Where, "%s leads out of the workspace to %s, which a link does not grant: name that path itself", l.Path, l.Target)
	}
	return nil
}

// unprotectedNames returns the unprotected names that the server could create. In a
// directory that turned out to be read-only it could not.
func (b *resolver) unprotectedNames() (names []string) {
	for _, u := range slices.Sorted(maps.Keys(b.unprotected)) {
		if e, ok := b.entryFor(path.Dir(u)); ok && e.Rights&policy.Write != 0 {
			names = append(names, u)
		}
	}
	return names
}

// A resolver collects the entries of one profile. They lie in a map, because they are few
// and change while they are collected.
type resolver struct {
	p     *policy.Policy
	h     *hostfs.Host
	paths *hostfs.LinkResolver

	canonicals      map[string]string // the answers of canonical
	unsafe          map[string]string // those of whyUnsafe
	reach           *policy.Reach
	byPath          map[string]policy.Entry
	searched        map[string]bool // baseline entries to search for .env files
	targets         []ruleTarget    // the rules whose path exists or is made
	unprotected     map[string]bool // Profile.Unprotected
	caseInsensitive map[string]bool // directories: see isCaseInsensitive
	missing         []missingRule
	neverWiden      []string
	hiddenLater     []string // Profile.HiddenLater
	linksAstray     bool     // see Profile.LinksAstray
	builtin         []sensitivePath
	deciding        []decidingPath   // what decides outside of the jail
	decidingWork    []decidingPath   // those around the workspace: see addDeciding
	places          *sensitivePlaces // nil before sensitiveAround is asked
	sensitiveDirs   []string
	links           []policy.Link
	workspaceLinks  []policy.Link // crossed on the way to the workspace
	warnings        []policy.Warning
	git             gitConfigs
	lower           []lowerRule     // see collectLower
	held            []policy.FsRule // see isHeld
}

// A ruleTarget is a rule with the path that it leads to.
type ruleTarget struct {
	rule      policy.FsRule
	lexical   string // absolute and clean, symbolic links not followed
	canonical string
	links     []policy.Link // crossed on the way
}

// A sensitivePath is a sensitive path on this host. The last component of abs may be a pattern,
// unless it is the file of a secret.
type sensitivePath struct {
	written, abs string
	secret       bool
}

type missingRule struct {
	path         string
	unsearchable string // the directory on the way that cannot be looked into
	entry        policy.Entry
}

func (b *resolver) warn(code, where, format string, args ...any) {
	b.warnings = append(b.warnings, policy.Warning{Code: code, Message: fmt.Sprintf(format, args...), Where: where})
}

// entryFor is Profile.Find on the entries collected so far.
func (b *resolver) entryFor(p string) (policy.Entry, bool) {
	for {
		if e, ok := b.byPath[p]; ok {
			return e, true
		}
		if p == "/" {
			return policy.Entry{}, false
		}
		p = path.Dir(p)
	}
}

func (b *resolver) entries() []policy.Entry {
	out := make([]policy.Entry, 0, len(b.byPath))
	for _, e := range b.byPath {
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b policy.Entry) int { return strings.Compare(a.Path, b.Path) })
	return out
}

func entryGrants(entries []policy.Entry) []policy.Grant {
	out := make([]policy.Grant, len(entries))
	for i, e := range entries {
		out[i] = policy.Grant{Path: e.Path, Rights: e.Rights, Rule: e.Rule, Shared: e.Origin != policy.OriginRule}
	}
	return out
}

// expand makes the path of a rule absolute. relative reports that the path belongs to the
// workspace.
func (b *resolver) expand(p, workspace string) (abs string, relative bool) {
	switch {
	case strings.HasPrefix(p, "/"):
		return path.Clean(p), false
	case p == "~":
		return path.Clean(b.h.Home), false
	case strings.HasPrefix(p, "~/"):
		return path.Join(b.h.Home, p[2:]), false
	}
	return path.Join(workspace, p), true
}

// whyTwoWays returns why a path as written can be read in two ways, or "": ".." behind a symbolic link
// means another directory to the kernel than to most programs, and to [hostfs.LinkResolver.Resolve].
func (b *resolver) whyTwoWays(written, base string) string {
	if !strings.Contains(written, "..") {
		return ""
	}
	switch {
	case strings.HasPrefix(written, "~/"):
		written = b.h.Home + written[1:]
	case !strings.HasPrefix(written, "/"):
		written = base + "/" + written
	}
	link := b.paths.UpFromLink(written)
	if link == "" {
		return ""
	}
	return fmt.Sprintf("has .. behind %s, which leads through a symbolic link to %s: the kernel goes up from there, and other programs go up in the text. Write the path that is meant, without ..", link, b.canonical(link))
}
