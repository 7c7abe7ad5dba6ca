// Package resolve turns a policy into the profile of this host. [Resolve] asks the host for
// files, links, programs and variables, once, at the start of a server. It changes nothing
// on the host.
//
// The resolver adds entries in this order: the rules, the runtime baseline with the program
// and its interpreters, the private HOME, masks over sensitive paths, and protected names.
// A scan of the granted trees finds sensitive and protected names at any depth. At the end
// it computes the environment, the working directory and the links that a jail recreates.
//
// A server may have written to its workspace in an earlier session. Therefore nothing that a
// server could have written may widen what the next start grants, or choose what runs
// outside the jail. [policy.Reach] lists where servers may write; every check of a link, an
// interpreter, a secret's file or a secret's command asks it.
//
// # Limits
//
//   - Resolution is a snapshot: see package policy.
//   - The directory of the server's own package is searched for .env files, but not the
//     node_modules below it.
//   - Paths are those of POSIX or of Windows; on other systems, Resolve returns errPlatform.
//
// The parts of a resolution are types with their own data: writers (where servers may write),
// caseFolding and secrets. They share the entries and the warnings. What a project's file takes away is
// resolved as a policy of its own, and met with the first one ([policy.Meet]). command.go finds a program,
// and needs.go what it needs. Below the package, internal/places says what a path means on a host, hides or
// protects what lies in a grant, and names what git runs or trusts.
package resolve

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/places"
)

type (
	// CommandError reports why a server's program cannot be started, before anything runs: stage
	// "exec" of a failure.
	CommandError = Error
	// WorkspaceError reports a workspace that was named and cannot be used.
	WorkspaceError = places.WorkspaceError
	// gitConfigError reports a git configuration that is too large to find out what git runs.
	gitConfigError = places.GitConfigError
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
const HostSocket = places.HostSocket

// errPlatform is returned by Resolve on a host whose paths it does not understand.
var errPlatform = errors.New("paths of this operating system are not supported")

// Resolve turns a policy into the profile of this host, once, at the start of a server. All
// that a profile has from the host comes from here. Resolve changes nothing on the host.
//
// Invariants of the profile: Entries is sorted by Path without duplicates. Each Path is
// canonical. No rule is in vain, and no two entries contradict each other in a way that a mount cannot
// express (else the error is a *[policy.ConflictError]). The profile depends only on the policy and
// the host, not on the order of maps or the locale.
//
// The errors to expect are *[CommandError], *[RuleError], *[WorkspaceError],
// *gitConfigError, *[policy.ConflictError] and [policy.Problems].
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
		return nil, nil, fmt.Errorf("%w (home %q, working directory %q)", errPlatform, host.Home, host.Dir)
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
	out.InPath = c.InPath
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
	out.Hidden = b.places.HiddenNames()
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
	paths := hostfs.NewLinkResolver(h)
	f := &facts{p: p, h: h, paths: paths, places: places.New(p, h, paths), entries: make(places.EntrySet, 56), warnings: &warningList{}}
	return &resolver{facts: f, writers: &writers{facts: f}, searched: map[string]bool{}, sums: &sums{facts: f, rules: map[string][]places.Target{}, base: map[string]policy.Rights{}}}
}

func (b *resolver) newProfile(net []policy.NetRule) *policy.Profile {
	p := b.p
	limits, _ := p.Limits.OrDefault() // Normalize has refused what is wrong
	out := &policy.Profile{
		Server: p.Server, Tool: p.Tool, Argv: append([]string{p.Command}, p.Arguments...), Default: p.Default,
		HomePrivate: !p.HomeReal, Net: net, OneHost: policy.HasOneHost(net), Inbound: p.InboundPorts(), OptionalInbound: p.OptionalInboundPorts(), Limits: limits, Waive: policy.SortAxes(p.Waive), Startup: p.Startup, Call: p.Call, Roots: p.Roots, Undo: p.Undo, Leaks: p.Leaks, LeakPatterns: p.LeakPatterns,
	}
	if out.Roots == "" {
		out.Roots = "off"
	}
	return out
}

func (b *resolver) findProgram(c *Resolver, out *policy.Profile) (err error) {
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
		c.addDependency(tree, "the installed package", false)
		c.addToolScript(b.p.Arguments)
	}
	for _, l := range c.EscapingLinks {
		b.warnings.warn("stray-script", b.p.Where, "%s leads out of the project folder to %s, which a link does not grant: name that path itself", l.Path, l.Target)
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
	entries  places.EntrySet
	warnings *warningList
}

// A resolver makes one profile.
type resolver struct {
	*facts
	writers *writers
	masks   *places.Masks // made when the rules are placed
	sums    *sums

	searched       map[string]bool // baseline entries to search for .env files
	targets        []places.Target // the rules whose path exists or is made
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

// checkBeside refuses a rule that a preset made for the directory around one file, if that directory
// is shared. dir is that directory, canonical.
func (b *resolver) checkBeside(r policy.FsRule, dir string) error {
	if r.Beside == "" {
		return nil
	}
	if at, err := b.paths.Resolve(path.Join(dir, path.Base(r.Beside))); err == nil && at.Exists() && at.Info.Mode.IsDir() {
		return &BesideError{&RuleError{r.Where, fmt.Sprintf("%s is a directory: name a file, in a directory of its own", show.TOML(r.Beside))}}
	}
	if why := b.places.WhyShared(dir); why != "" {
		return b.besideError(r, dir, why)
	}
	return nil
}

func (b *resolver) isNamedIn(rules []policy.FsRule, p, workspace string) bool {
	return slices.ContainsFunc(rules, func(r policy.FsRule) bool {
		abs, _ := b.places.Expand(r.Path, workspace)
		return r.Beside == "" && b.paths.Canonical(abs) == p
	})
}

// besideError refuses the rule for the directory around one file.
func (b *resolver) besideError(r policy.FsRule, dir, why string) error {
	name := path.Base(r.Beside)
	own := path.Join(b.h.Home, "mcp-"+strings.TrimPrefix(strings.TrimSuffix(name, path.Ext(name)), "."), name)
	return &BesideError{&RuleError{r.Where, fmt.Sprintf("%s: the server makes other files beside it, so it would need all of %s (%s), which %s. Give it a file in a directory of its own, such as %s",
		show.TOML(r.Beside), dir, r.Rights(), why, show.Name(b.places.Abbreviate(own)))}}
}

// HomeLinks returns the HomeLinks of a profile without the rest of it. A rule that cannot be resolved
// has none: the start of what it is for says why. No profile for Windows has any.
func HomeLinks(p *policy.Policy, host hostfs.Host) []policy.HomeLink {
	if p.HomeReal || len(p.Fs) == 0 || host.OS == "windows" {
		return nil
	}
	b := newResolver(p, &host)
	if b.placeFiles() != nil {
		return nil
	}
	return b.homeLinks()
}

// homeLinks returns the places in the private HOME of what rules grant below the user's home. The
// path of a rule decides as it is written, since programs look for it there: a link may lead it
// elsewhere.
func (b *resolver) homeLinks() (links []policy.HomeLink) {
	if b.p.HomeReal {
		return nil
	}
	homes, own := []string{path.Clean(b.h.Home), b.paths.Canonical(b.h.Home)}, b.places.OwnDirs()
	for _, dir := range own {
		own = append(own, b.paths.Canonical(dir))
	}
	isOwn := func(p string) bool {
		return slices.ContainsFunc(own, func(dir string) bool { return policy.Within(p, dir) })
	}
	for _, n := range b.targets {
		e, ok := b.entries[n.Canonical]
		i := slices.IndexFunc(homes, func(home string) bool { return n.Lexical != home && policy.Within(n.Lexical, home) })
		if !ok || e.Rights == 0 || i < 0 || n.Rule.Workspace || isOwn(n.Lexical) || isOwn(n.Canonical) {
			continue
		}
		at := strings.TrimPrefix(strings.TrimPrefix(n.Lexical, homes[i]), "/")
		links = append(links, policy.HomeLink{Path: at, Target: n.Canonical, Dir: e.Kind == policy.KindDir && e.Rights.Has(policy.Read), ID: e.ID})
	}
	slices.SortStableFunc(links, func(a, b policy.HomeLink) int { return cmp.Compare(a.Path, b.Path) })
	return slices.CompactFunc(links, func(a, b policy.HomeLink) bool { return a.Path == b.Path })
}

// gitConfig returns the configuration with the settings of the user: "" where HOME leads to the user's
// own, and unless the server can write a repository, whose log has the user's name already.
func (b *resolver) gitConfig(out *policy.Profile) string {
	writable := slices.ContainsFunc(b.masks.Git.Repositories(), func(dir string) bool {
		e, _ := b.entries.Find(dir)
		return e.Rights.Has(policy.Create | policy.Update)
	})
	if !out.HomePrivate || !writable {
		return ""
	}
	return b.masks.Git.UserSettings(b.readsGitFile)
}

// readsGitFile lets the server read a file that the user's configuration of git names, and reports
// whether it can.
func (b *resolver) readsGitFile(file string) bool {
	at, err := b.paths.Resolve(file)
	if err != nil || !at.Exists() || !at.Info.Mode.IsRegular() {
		return false
	}
	e, covered := b.entries.Find(at.Path)
	if !e.Rights.Has(policy.Read) {
		if covered && e.Path != "/" || b.places.Sensitive(at.Path) != "" || b.writers.whyChangeable(at) != "" {
			return false
		}
		b.entries[at.Path] = policy.Entry{Path: at.Path, Kind: policy.KindFile, Rights: policy.Read, Origin: policy.OriginBaseline, Named: file, Rule: "your configuration of git", ID: at.Info.ID}
	}
	b.links = append(b.links, at.Links...)
	return true
}

// caseFolding finds out which directories ignore case.
type caseFolding struct {
	*facts

	caseInsensitive map[string]bool // see isCaseInsensitive
}

// directories returns Profile.IgnoreCase.
func (b *caseFolding) directories() (out []string) {
	for _, e := range b.entries.Sorted() {
		around, ok := b.entries.Find(path.Dir(e.Path))
		if !ok || e.Path == "/" || around.Rights&^e.Rights == 0 {
			continue
		}
		for p := e.Path; ok && p != "/"; p = path.Dir(p) {
			if b.isCaseInsensitive(p) {
				out = append(out, path.Dir(p))
			}
			_, ok = b.entries.Find(path.Dir(path.Dir(p)))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// isCaseInsensitive asks, once for each directory, whether it finds a name under another
// case. A directory that is empty or cannot be listed is taken to be like its parent.
func (b *caseFolding) isCaseInsensitive(name string) bool {
	dir := path.Dir(name)
	if known, ok := b.caseInsensitive[dir]; ok {
		return known
	}
	folds := false
	if name = b.existingName(name); name != "" {
		folds = b.places.IsSame(path.Join(dir, hostfs.OtherCase(path.Base(name))), name)
	} else if dir != "/" {
		folds = b.isCaseInsensitive(dir)
	}
	b.caseInsensitive[dir] = folds
	return folds
}

// existingName returns an existing path in the directory of name whose base has a letter: name
// itself if it is such a path. It returns "" if there is none.
func (b *caseFolding) existingName(name string) string {
	if hostfs.OtherCase(path.Base(name)) != path.Base(name) && b.paths.Lstat(name).Err == nil {
		return name
	}
	dir := path.Dir(name)
	names, _ := b.paths.Names(dir)
	for _, other := range names {
		if hostfs.OtherCase(other) != other {
			return path.Join(dir, other)
		}
	}
	return ""
}
