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

// makeReach collects what the policy and its others may write.
func (b *builder) makeReach(out *policy.Profile) {
	b.reach = &policy.Reach{}
	home := policy.Reached{Rights: policy.AllRights, Rule: "its private HOME", Home: true}
	spaces := map[[2]string]string{}
	type linked struct {
		writer int
		at     hostfs.Place
		policy.Reached
	}
	var later []linked
	for _, p := range append([]*policy.Policy{b.p}, b.p.Others...) {
		w := policy.Reacher{Who: p.NameBeside(b.p), Places: map[string]policy.Reached{}}
		if p == b.p && out.HomePrivate {
			w.Places[out.Home] = home
		}
		key := [2]string{p.Workspace, fmt.Sprint(p.Default)}
		space, known := spaces[key]
		if !known {
			space = b.spaceOf(p)
			spaces[key] = space
		}
		for _, r := range p.Fs {
			abs, relative := b.expand(r.Path, space)
			if relative && space == "" || relative && !policy.Within(abs, space) {
				continue
			}
			is := policy.Reached{Rights: r.Rights(), Rule: r.Label(), Home: false}
			at, err := b.f.Find(abs)
			if err == nil && len(at.Links) == 0 || is.Rights != 0 {
				w.Places[abs] = is
			}
			if err == nil && len(at.Links) > 0 && (!relative || policy.Within(at.Path, space)) {
				later = append(later, linked{len(b.reach.Writers), at, is})
			}
		}
		b.reach.Writers = append(b.reach.Writers, w)
	}
	if strings.HasPrefix(b.h.StateDir, "/") {
		homes := map[string]policy.Reached{b.real(path.Join(b.h.StateDir, "servers")): home}
		b.reach.Writers = append(b.reach.Writers, policy.Reacher{Who: "another server", Places: homes})
	}
	// A rule that leads through a link of theirs is refused (loose), so it grants nothing
	// where the link leads: else the link would say that they write wherever it likes.
	for _, l := range later {
		if _, _, loose := b.replaceable(l.at.Links); !loose {
			places := b.reach.Writers[l.writer].Places
			l.Rights |= places[l.at.Path].Rights
			places[l.at.Path] = l.Reached
		}
	}
	for _, w := range b.reach.Writers {
		b.loosen(w)
	}
}

// loosen gives to a file whose rule says of it what is around it ([Profile.Distinct]) the
// rule of its directory: it can be replaced like those beside it.
func (b *builder) loosen(w policy.Reacher) {
	for p, place := range w.Places {
		at, err := b.f.Find(p)
		if err != nil || p == "/" || at.Path != p || !at.Info.Mode.IsRegular() {
			continue
		}
		if _, around := w.Find(path.Dir(p)); place.Rights&policy.OfFiles != 0 && place.Rights&policy.OfFiles == around.Rights&policy.OfFiles {
			place.Rights, place.Rule = place.Rights|around.Rights, around.Rule
			w.Places[p] = place
		}
	}
}

// spaceOf is the workspace of a policy, for its relative rules.
func (b *builder) spaceOf(p *policy.Policy) string {
	other := &builder{p: p, h: b.h, f: b.f, builtin: b.builtin}
	space, err := other.workspace()
	if err != nil {
		space, _ = b.expand(cmp.Or(p.Workspace, "."), b.h.Dir)
	}
	return space
}

// writer finds what may write to a canonical path.
func (b *builder) writer(path string, rights policy.Rights) (policy.Writer, bool) {
	w, ok := b.reach.Writer(path, rights)
	if ok && b.reach.Kept == nil {
		b.keep()
		w, ok = b.reach.Writer(path, rights)
	}
	return w, ok
}

// inside finds what may write to a canonical path, or to something in it.
func (b *builder) inside(dir string, rights policy.Rights) (policy.Writer, bool) {
	for _, w := range b.reach.Writers {
		for _, at := range slices.Sorted(maps.Keys(w.Places)) {
			if w.Places[at].Rights&rights != 0 && policy.Within(at, dir) {
				return policy.Writer{Who: w.Who, Rule: w.Places[at].Rule}, true
			}
		}
	}
	return b.writer(dir, rights)
}

// keep lists what is hidden or protected in every policy that does not name it. It is
// for what seems to be within reach: most starts have no such thing.
func (b *builder) keep() {
	kept := append(append([]string{}, b.own()...), b.h.KernelPlaces...)
	kept = append(kept, b.beside()...)
	for _, s := range b.builtin {
		if !strings.HasSuffix(s.abs, "*") {
			kept = append(kept, s.abs)
		}
	}
	for _, s := range append(clientFiles(b.h.OS), b.p.SecretFiles()...) {
		abs, _ := b.expand(s, "/")
		kept = append(kept, abs)
	}
	b.reach.Kept = make([]string, 0, len(kept))
	for _, k := range kept {
		b.reach.Kept = append(b.reach.Kept, b.real(k))
	}
}

// replaceable finds the first of some links that could be replaced, and by what.
func (b *builder) replaceable(links []policy.Link) (policy.Link, policy.Writer, bool) {
	for _, l := range links {
		if w, ok := b.writer(path.Dir(l.Path), policy.Create|policy.Delete); ok {
			return l, w, true
		}
	}
	return policy.Link{}, policy.Writer{}, false
}

// chosen says what of a path could be another thing tomorrow, "" for nothing: the link
// by which it leads on, the file, or a directory on the way that could be moved.
func (b *builder) chosen(at hostfs.Place) string {
	if l, w, ok := b.replaceable(at.Links); ok {
		return fmt.Sprintf("%s may replace the symbolic link %s (%s)", w.Who, l.Path, w.Rule)
	}
	for p := at.Path; ; p = path.Dir(p) {
		if w, ok := b.writer(p, policy.Write); ok {
			return fmt.Sprintf("%s may write to %s (%s)", w.Who, p, w.Rule)
		}
		if p == "/" {
			return ""
		}
	}
}
