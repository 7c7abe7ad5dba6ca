package resolve

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/places"
)

func (b *resolver) placeFiles() error {
	b.collectGuarded()
	workspace, err := b.resolveWorkspace()
	if err != nil {
		return err
	}
	b.writers.collectWriters(&policy.Profile{})
	return b.placeRules(workspace)
}

// placeRules adds the entries of the fs rules. Rules that lead to the same object share one.
func (b *resolver) placeRules(workspace string) error {
	for i, r := range b.p.Fs {
		abs, at, err := b.locate(r, workspace)
		if err != nil {
			return err
		}
		if at.Path == "" {
			continue
		}
		if err := b.checkBeside(r, at.Path); err != nil {
			if b.isNamedIn(b.p.Fs[i+1:], at.Path, workspace) {
				continue // the user's rule takes its place
			}
			return err
		}
		rights := r.Rights()
		e := policy.Entry{Path: at.Path, Rights: rights, Origin: policy.OriginRule, Named: r.Path, Rule: r.Label()}
		target := places.Target{Rule: r, Lexical: abs, Canonical: at.Path, Links: at.Links}
		slash := strings.HasSuffix(r.Path, "/")
		switch {
		case at.Exists() && slash && !at.Info.Mode.IsDir():
			b.warnings.warn("not-a-directory", r.Where, "path = %s ends with a slash, but %s is not a directory: it grants nothing", show.TOML(r.Path), at.Path)
			continue
		case at.Exists():
			e.Kind, e.ID = hostfs.KindOf(at.Info.Mode), at.Info.ID
		case slash && r.Create && at.Reason == "":
			e.Kind, e.Make = policy.KindDir, true
		default:
			b.warnMissing(r, at)
			b.missing = append(b.missing, missingRule{at.Path, at.Unsearchable, r})
			if r.Deny != 0 {
				b.sums.addRule(target)
			}
			continue
		}
		b.links = append(b.links, at.Links...)
		if old, ok := b.entries[e.Path]; !ok || r.Deny != 0 || rights&^old.Rights != 0 {
			b.entries[e.Path] = e
		}
		b.sums.addRule(target)
		b.targets = append(b.targets, target)
		if wide := wideGrant(r, e.Path, b.paths.Canonical(b.h.Home)); wide != "" && !r.Workspace {
			b.warnings.warn("wide-grant", r.Where, "%s", wide)
		}
	}
	b.masks = places.NewMasks(places.Given{Policy: b.p, Host: b.h, Paths: b.paths, Places: b.places, Entries: b.entries, Targets: b.targets, Searched: b.searched, Warn: b.warnings.warn, Names: b.sums.names})
	b.sums.masks, b.sums.targets = b.masks, b.targets
	b.sums.denyNarrowFlags()
	b.sums.sum()
	if err := b.sums.checkRules(); err != nil {
		return err
	}
	return b.checkWritableLinks()
}

func (b *facts) warnMissing(r policy.FsRule, at hostfs.ResolvedPath) {
	why := "does not exist"
	if at.Reason != "" {
		why = "cannot be reached (" + at.Reason + ")"
	}
	tail := "it grants nothing"
	switch {
	case r.Deny != 0 && at.Unsearchable == "":
		tail = "there is nothing to take away, and the server can make nothing there. If it is made later, that counts from the next start on"
	case strings.ContainsAny(r.Path, "*?["):
		tail += "; a path is literal, there are no globs"
	}
	if !r.Optional || at.Reason != "" {
		b.warnings.warn("missing-path", r.Where, "path = %s: %s %s: %s", show.TOML(r.Path), at.Path, why, tail)
	}
}

// locate follows the path of a rule. abs is the path before symbolic links are followed. Without an
// error, a result without a path is that of a rule that grants nothing here.
func (b *resolver) locate(r policy.FsRule, workspace string) (abs string, at hostfs.ResolvedPath, err error) {
	none := hostfs.ResolvedPath{}
	abs, relative := b.places.Expand(r.Path, workspace)
	if relative && workspace == "" {
		if r.Workspace {
			return abs, none, nil // resolveWorkspace has warned of it
		}
		return abs, none, &RuleError{r.Label(), "is relative, and there is no project folder"}
	}
	for _, written := range []string{r.Path, r.Beside} {
		if why := b.places.WhyTwoWays(written, workspace); why != "" {
			return abs, none, &RuleError{r.Label(), why}
		}
	}
	if at, err = b.paths.Resolve(abs); err != nil {
		return abs, none, &RuleError{r.Label(), err.Error()}
	}
	if why := b.places.WhyNoRule(at.Path, r.Rights() != 0); why != "" {
		return abs, none, &RuleError{r.Label(), why}
	}
	if r.Rights() != 0 && b.isLoneTerminal(at.Path) {
		return abs, none, &RuleError{r.Label(), "is a terminal of this machine, and a jail has terminals of its own there: no rule can add one. Serve the device at a port of this machine (socat does), and allow that port"}
	}
	if relative && !policy.Within(abs, workspace) {
		return abs, none, &RuleError{r.Label(), fmt.Sprintf("leaves the project folder %s (it is %s). For a place outside, write it as an absolute path or with ~/", workspace, abs)}
	}
	if relative && !policy.Within(at.Path, workspace) {
		return abs, none, &RuleError{r.Label(), fmt.Sprintf("leaves the project folder %s through a symbolic link (%s -> %s). For a place outside, write it as an absolute path or with ~/", workspace, abs, at.Path)}
	}
	if relative && b.places.IsWiderThanMeant(b.p, r, at.Path) {
		b.warnings.warn("home-workspace", r.Where, "%s is %s, where this server was started: it allows nothing. If the server needs a project folder, name it with --workspace. If you mean all of your home folder, write ~", r.Path, at.Path)
		return abs, none, nil
	}
	if !relative {
		return abs, at, nil
	}
	if why := b.places.WhyNotRelative(r, at.Path); why != "" {
		if !r.Workspace || !slices.ContainsFunc(b.p.Fs, func(o policy.FsRule) bool { return !o.Workspace && o.Rights() != 0 }) {
			b.warnings.warn("no-workspace", r.Where, "%[1]s has no project folder, because %[2]s %[3]s. If it needs one, name it: mcp-jail grant %[1]s --workspace ~/project", b.p.Server, at.Path, why)
		}
		return abs, none, nil
	}
	return abs, at, nil
}

// isLoneTerminal reports whether a path is a terminal in /dev/pts, which no rule gives as a whole. In the /dev/pts
// of a jail nothing can be made, and so no mount point for a terminal of the host.
func (b *resolver) isLoneTerminal(p string) bool {
	return b.h.OS == "linux" && policy.Within(p, "/dev/pts") && p != "/dev/pts" && !slices.ContainsFunc(b.p.Fs, func(r policy.FsRule) bool {
		return r.Rights() != 0 && (r.Path == "/dev/pts" || r.Path == "/dev")
	})
}

// checkWritableLinks refuses rules whose path leads through a symbolic link that a server
// could replace. The server would choose what the rule grants at the next start.
func (b *resolver) checkWritableLinks() error {
	for _, n := range b.targets {
		links := n.Links
		if !strings.HasPrefix(n.Rule.Path, "/") && !strings.HasPrefix(n.Rule.Path, "~") {
			links = append(slices.Clone(links), b.workspaceLinks...) // it is relative
		}
		if l, w, ok := b.writers.writableLink(links); ok {
			return &RuleError{n.Rule.Label(), fmt.Sprintf("leads through the symbolic link %s (-> %s), which %s could replace (%s): if that link is yours, write the path that is meant, %s. Otherwise remove it", l.Path, l.Target, w.Name, w.Rule, n.Canonical)}
		}
	}
	return nil
}

// denyMissing handles denials of missing paths. No mount can take rights away from a path once it
// exists, so the path must not be created.
func (b *resolver) denyMissing() {
	for _, m := range b.missing {
		e, ok := b.entries.Find(m.path)
		deny := m.rule.Deny
		if isFlag(m.rule) && m.rule.Rights()&policy.Write == 0 {
			deny |= policy.Write // see denyNarrowFlags
		}
		switch {
		case !ok || e.Path == m.path || e.Rights&deny == 0:
		case m.unsearchable != "":
			b.masks.HideUnreadable(m.unsearchable)
		default:
			b.masks.DenyCreate(policy.Entry{Path: m.path, Rights: e.Rights &^ deny, Origin: policy.OriginRule, Named: m.rule.Path, Rule: m.rule.Label()}, e)
		}
	}
}

func (b *resolver) visibleLinks(out *policy.Profile) []policy.Link {
	at := map[string]string{}
	for _, l := range append(b.links, b.namedLinks(out)...) {
		if _, inside := out.Find(l.Path); !inside {
			at[l.Path] = l.Target
		}
	}
	links := []policy.Link{}
	for _, p := range slices.Sorted(maps.Keys(at)) {
		links = append(links, policy.Link{Path: p, Target: at[p]})
	}
	return links
}

// wideGrant returns the warning about a rule that grants the home directory or a directory around
// it, or "". Both paths are canonical.
func wideGrant(r policy.FsRule, at, home string) string {
	if r.Rights() == 0 || !policy.Within(home, at) {
		return ""
	}
	but := "sensitive paths"
	if r.Rights()&policy.Write != 0 {
		but += " and protected files"
	}
	return fmt.Sprintf("path = %s grants %s to everything below %s but %s", show.TOML(r.Path), r.Rights(), at, but)
}

// namedLinks returns the symbolic links that the names of the client cross on the way to what a rule
// grants: $PWD, if the server starts there, and the paths in arguments and granted variables. A user
// who keeps ~/code on another disk names the workspace by that link. What is granted stays the place
// that the rules lead to.
func (b *resolver) namedLinks(out *policy.Profile) (links []policy.Link) {
	names := append([]string{}, b.p.Arguments...)
	if dir, _ := b.h.Getenv("PWD"); strings.HasPrefix(dir, "/") && dir != b.h.Dir && b.paths.Canonical(dir) == b.paths.Canonical(b.h.Dir) {
		names = append(names, dir)
	}
	for _, v := range out.Env {
		if v.Rule != minimalEnvironment {
			names = append(names, v.Value)
		}
	}
	for _, name := range names {
		if _, value, ok := strings.Cut(name, "="); ok && !strings.HasPrefix(name, "/") {
			name = value // --root=/path
		}
		if !strings.HasPrefix(name, "/") || len(name) >= 4096 || strings.ContainsAny(name, "\x00\n") {
			continue
		}
		at, err := b.paths.Resolve(name)
		if err != nil || len(at.Links) == 0 {
			continue
		}
		if e, ok := b.entries.Find(at.Path); ok && e.Origin == policy.OriginRule && e.Rights != 0 {
			links = append(links, at.Links...)
		}
	}
	return links
}
