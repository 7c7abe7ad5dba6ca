package resolve

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// writers know which policy may write where.
type writers struct {
	*facts
	reach *policy.Reach
}

func (b *writers) collectWriters(out *policy.Profile) {
	b.reach = &policy.Reach{}
	home := policy.WriteGrant{Rights: policy.AllRights, Rule: "its own HOME", InHome: true}
	spaces := map[[2]string]string{}
	type linked struct {
		writer int
		at     hostfs.ResolvedPath
		policy.WriteGrant
	}
	var later []linked
	for _, p := range append([]*policy.Policy{b.p}, b.p.Others...) {
		w := policy.WriterRules{Name: p.DisplayName(b.p), Rules: map[string]policy.WriteGrant{}}
		if p == b.p && out.HomePrivate {
			w.Rules[out.Home] = home
		}
		key := [2]string{p.Workspace, fmt.Sprint(p.Default)}
		space, known := spaces[key]
		if !known {
			space = b.workspaceOf(p)
			spaces[key] = space
		}
		for _, r := range p.Fs {
			abs, relative := b.places.Expand(r.Path, space)
			if relative && space == "" || relative && !policy.Within(abs, space) {
				continue
			}
			is := writeGrant(r)
			at, err := b.paths.Resolve(abs)
			if err == nil && relative && (b.places.IsWiderThanMeant(p, r, at.Path) || r.Preset && b.places.WhyNotRelative(r, at.Path) != "") {
				continue // its start grants nothing for it
			}
			if err == nil && len(at.Links) == 0 || is.Rights != 0 {
				w.Rules[abs] = joined(w.Rules[abs], is)
			}
			if err == nil && len(at.Links) > 0 && (!relative || policy.Within(at.Path, space)) {
				later = append(later, linked{len(b.reach.Writers), at, is})
			}
		}
		b.reach.Writers = append(b.reach.Writers, w)
	}
	if strings.HasPrefix(b.h.StateDir, "/") {
		homes := map[string]policy.WriteGrant{b.paths.Canonical(path.Join(b.h.StateDir, "servers")): home}
		b.reach.Writers = append(b.reach.Writers, policy.WriterRules{Name: "another server", Rules: homes})
	}
	// A rule whose path leads through a link that a server can change is refused (loose), and
	// grants nothing at the link's target. If it counted, a server could name any path as
	// writable by pointing the link there.
	for _, l := range later {
		if _, _, loose := b.writableLink(l.at.Links); !loose {
			rules := b.reach.Writers[l.writer].Rules
			rules[l.at.Path] = joined(rules[l.at.Path], l.WriteGrant)
		}
	}
	b.reach.Writers = append(b.reach.Writers, b.p.Noted...) // their own starts have widened them
}

// writeGrant returns what a rule grants on the host.
func writeGrant(r policy.FsRule) policy.WriteGrant {
	return policy.WriteGrant{Rights: r.Rights(), Deny: r.Deny, Rule: r.Label()}
}

// joined returns what two rules for one path grant.
func joined(a, b policy.WriteGrant) policy.WriteGrant {
	if a.Rights&policy.Write == 0 || a.Rule == "" {
		a.Rule = b.Rule
	}
	a.Rights, a.Deny = a.Rights|b.Rights, a.Deny|b.Deny
	return a
}

func (b *writers) workspaceOf(p *policy.Policy) string {
	space, err := b.places.For(p).FindWorkspace()
	if err != nil {
		space.Dir, _ = b.places.Expand(cmp.Or(p.Workspace, "."), b.h.Dir)
	}
	return space.Dir
}

func (b *writers) writerOf(path string, rights policy.Rights) (policy.Writer, bool) {
	w, ok := b.reach.Writer(path, rights)
	if ok && b.reach.Protected == nil && b.facts != nil {
		b.collectProtected()
		w, ok = b.reach.Writer(path, rights)
	}
	return w, ok
}

func (b *writers) writerInside(dir string, rights policy.Rights) (policy.Writer, bool) {
	for _, w := range b.reach.Writers {
		for _, at := range slices.Sorted(maps.Keys(w.Rules)) {
			if w.Rules[at].Rights&rights != 0 && policy.Within(at, dir) {
				return policy.Writer{Name: w.Name, Rule: w.Rules[at].Rule}, true
			}
		}
	}
	return b.writerOf(dir, rights)
}

// collectProtected lists the paths that are hidden or protected in every policy that does not name
// them. It runs only if a path seems to be writable, or if connections are intercepted: most starts
// do not need it.
func (b *writers) collectProtected() {
	kept := append(append([]string{}, b.places.OwnDirs()...), b.h.PseudoMounts...)
	kept = append(kept, b.places.TrustedFiles()...)
	for _, s := range b.places.Builtin {
		if !strings.HasSuffix(s.Abs, "*") {
			kept = append(kept, s.Abs)
		}
	}
	for _, d := range b.places.Deciding {
		if !d.OfEnvironment {
			kept = append(kept, d.Abs)
		}
	}
	for _, s := range b.p.SecretFiles() {
		abs, _ := b.places.Expand(s, "/")
		kept = append(kept, abs)
	}
	b.reach.Protected = make([]string, 0, len(kept))
	for _, k := range kept {
		b.reach.Protected = append(b.reach.Protected, b.paths.Canonical(k))
	}
}

// writableLink returns the first of some links that a server could replace, and that server.
// One of create and delete suffices: another process may have the other right.
func (b *writers) writableLink(links []policy.Link) (policy.Link, policy.Writer, bool) {
	for _, l := range links {
		if w, ok := b.writerOf(path.Dir(l.Path), policy.Create|policy.Delete); ok {
			return l, w, true
		}
	}
	return policy.Link{}, policy.Writer{}, false
}

// whyChangeable returns why the file of a path could be another one at the next start: a server
// may replace a link on the way, write the file, or move a directory above it. It returns "" if no
// server may. Where stops says so, nothing is moved from above.
func (b *writers) whyChangeable(at hostfs.ResolvedPath, stops ...string) string {
	if l, w, ok := b.writableLink(at.Links); ok {
		return fmt.Sprintf("%s may replace the symbolic link %s (%s)", w.Name, l.Path, w.Rule)
	}
	for p := range hostfs.Upward(at.Path) {
		if w, ok := b.writerOf(p, policy.Write); ok {
			return fmt.Sprintf("%s may write to %s (%s)", w.Name, p, w.Rule)
		}
		if slices.Contains(stops, p) {
			break
		}
	}
	return ""
}

func (b *writers) isChangeable(p string) bool {
	abs, _ := b.places.Expand(p, "/")
	at, err := b.paths.Resolve(abs)
	return err != nil || b.whyChangeable(at) != ""
}

// ReachOf returns the Reach of a policy and its Others before the policy is resolved, for
// [WhyChangeable].
func ReachOf(p *policy.Policy, host hostfs.Host) *policy.Reach {
	if host.OS == "windows" {
		return coarseReach(p)
	}
	b := newResolver(p, &host)
	b.collectGuarded()
	b.writers.collectWriters(&policy.Profile{})
	b.writers.collectProtected()
	return b.writers.reach
}

// WhyChangeable returns which server may put another file at an absolute path, and by which rule:
// it may write the file, replace a link on the way, or move a directory above. It returns "" if no
// server may. Nothing is moved from above a protected path.
func WhyChangeable(reach *policy.Reach, paths *hostfs.LinkResolver, file string) string {
	at, err := paths.Resolve(file)
	if err != nil {
		return "its path cannot be followed: " + err.Error()
	}
	return (&writers{reach: reach}).whyChangeable(at, reach.Protected...)
}
