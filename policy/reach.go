package policy

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
)

// Reach is where the processes may write that are one adversary: each process of a
// server, whatever its policy, and those of the other servers of the configuration.
// Whatever is read, run or followed outside of a jail, or widens a policy, must not be
// theirs. It is made once, before a profile, and every check of that kind asks it.
//
// It errs to one side: what a rule may come to grant counts from the beginning, and of
// what a profile takes away from its rules only that counts which has a fixed place.
type Reach struct {
	writers []reacher
	kept    []string // no writer has them but by a rule for them, or in them
}

// reacher is one policy, by the paths of its rules: the longest one decides.
type reacher struct {
	who    string
	places map[string]reached
}

type reached struct {
	rights Rights
	rule   string
	home   bool // of a server, in which nothing is hidden or protected
}

// Writer is a policy that lets its process write to a path.
type Writer struct {
	Who  string // `the tool "x"`, as the subject of a sentence
	Rule string // of it, with its place
}

// Writer finds a policy that has one of the rights at a canonical path.
func (r *Reach) Writer(path string, rights Rights) (Writer, bool) {
	for _, w := range r.writers {
		at, place := w.find(path)
		kept := func(k string) bool { return !place.home && Within(path, k) && !Within(at, k) }
		if place.rights&rights != 0 && !slices.ContainsFunc(r.kept, kept) {
			return Writer{w.who, place.rule}, true
		}
	}
	return Writer{}, false
}

func (w reacher) find(p string) (at string, place reached) {
	for {
		if place, ok := w.places[p]; ok {
			return p, place
		}
		if p == "/" {
			return p, reached{}
		}
		p = path.Dir(p)
	}
}

// Named reports whether a policy has a rule with one of the rights for a path, or for
// something in it.
func (p *Profile) Named(dir string, rights Rights) bool {
	for _, e := range p.Entries {
		if e.Rights&rights != 0 && Within(e.Path, dir) {
			return true
		}
	}
	if p.reach == nil {
		return false
	}
	for _, w := range p.reach.writers {
		for at, place := range w.places {
			if place.rights&rights != 0 && Within(at, dir) {
				return true
			}
		}
	}
	return false
}

// Writer finds what may write to a path: see [Reach]. A profile that Resolve has not
// made knows of itself alone.
func (p *Profile) Writer(path string, rights Rights) (Writer, bool) {
	if p.reach != nil {
		return p.reach.Writer(path, rights)
	}
	e, _ := p.Find(path)
	return Writer{"the server", e.Rule}, e.Rights&rights != 0
}

// makeReach collects what the policy and its others may write.
func (b *builder) makeReach(out *Profile) {
	b.reach = &Reach{}
	home := reached{AllRights, "its private HOME", true}
	spaces := map[[2]string]string{}
	type linked struct {
		writer int
		at     place
		reached
	}
	var later []linked
	for _, p := range append([]*Policy{b.p}, b.p.others...) {
		w := reacher{p.nameBeside(b.p), map[string]reached{}}
		if p == b.p && out.HomePrivate {
			w.places[out.Home] = home
		}
		key := [2]string{p.Workspace, fmt.Sprint(p.Default)}
		space, known := spaces[key]
		if !known {
			space = b.spaceOf(p)
			spaces[key] = space
		}
		for _, r := range p.Fs {
			abs, relative := b.expand(r.Path, space)
			if relative && space == "" || relative && !Within(abs, space) {
				continue
			}
			is := reached{r.Rights(), r.label(), false}
			at, err := b.f.find(abs)
			if err == nil && len(at.links) == 0 || is.rights != 0 {
				w.places[abs] = is
			}
			if err == nil && len(at.links) > 0 && (!relative || Within(at.path, space)) {
				later = append(later, linked{len(b.reach.writers), at, is})
			}
		}
		b.reach.writers = append(b.reach.writers, w)
	}
	if strings.HasPrefix(b.h.StateDir, "/") {
		homes := map[string]reached{b.real(path.Join(b.h.StateDir, "servers")): home}
		b.reach.writers = append(b.reach.writers, reacher{"another server", homes})
	}
	// A rule that leads through a link of theirs is refused (loose), so it grants nothing
	// where the link leads: else the link would say that they write wherever it likes.
	for _, l := range later {
		if _, _, loose := b.replaceable(l.at.links); !loose {
			places := b.reach.writers[l.writer].places
			l.rights |= places[l.at.path].rights
			places[l.at.path] = l.reached
		}
	}
	for _, w := range b.reach.writers {
		b.loosen(w)
	}
}

// loosen gives to a file whose rule says of it what is around it ([Profile.Distinct]) the
// rule of its directory: it can be replaced like those beside it.
func (b *builder) loosen(w reacher) {
	for p, place := range w.places {
		at, err := b.f.find(p)
		if err != nil || p == "/" || at.path != p || !at.info.Mode.IsRegular() {
			continue
		}
		if _, around := w.find(path.Dir(p)); place.rights&ofFiles != 0 && place.rights&ofFiles == around.rights&ofFiles {
			place.rights, place.rule = place.rights|around.rights, around.rule
			w.places[p] = place
		}
	}
}

// spaceOf is the workspace of a policy, for its relative rules.
func (b *builder) spaceOf(p *Policy) string {
	other := &builder{p: p, h: b.h, f: b.f, builtin: b.builtin}
	space, err := other.workspace()
	if err != nil {
		space, _ = b.expand(last(".", p.Workspace), b.h.Dir)
	}
	return space
}

// nameBeside is what messages about the policy of is call p.
func (p *Policy) nameBeside(is *Policy) string {
	name, of := "the server", ""
	if p.Server != is.Server {
		name, of = fmt.Sprintf("the server %q", p.Server), fmt.Sprintf(" of the server %q", p.Server)
	}
	switch {
	case p == is || p.Stateful:
		return name
	case p.Tool == "":
		return "the process that lists the tools" + of
	}
	return fmt.Sprintf("the tool %q", p.Tool) + of
}

// writer finds what may write to a canonical path.
func (b *builder) writer(path string, rights Rights) (Writer, bool) {
	w, ok := b.reach.Writer(path, rights)
	if ok && b.reach.kept == nil {
		b.keep()
		w, ok = b.reach.Writer(path, rights)
	}
	return w, ok
}

// inside finds what may write to a canonical path, or to something in it.
func (b *builder) inside(dir string, rights Rights) (Writer, bool) {
	for _, w := range b.reach.writers {
		for _, at := range sortedKeys(w.places) {
			if w.places[at].rights&rights != 0 && Within(at, dir) {
				return Writer{w.who, w.places[at].rule}, true
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
	for _, s := range append(clientFiles(b.h.OS), b.p.secretFiles()...) {
		abs, _ := b.expand(s, "/")
		kept = append(kept, abs)
	}
	b.reach.kept = make([]string, 0, len(kept))
	for _, k := range kept {
		b.reach.kept = append(b.reach.kept, b.real(k))
	}
}

// replaceable finds the first of some links that could be replaced, and by what.
func (b *builder) replaceable(links []Link) (Link, Writer, bool) {
	for _, l := range links {
		if w, ok := b.writer(path.Dir(l.Path), Create|Delete); ok {
			return l, w, true
		}
	}
	return Link{}, Writer{}, false
}

// Trace follows a path of this machine, and tells each symbolic link that it crosses.
func Trace(p string) (real string, links []Link, err error) {
	at, err := newFinder(&Host{Lstat: lstat, Readlink: os.Readlink, OS: runtime.GOOS}).find(p)
	if err == nil && !at.exists() {
		err = fs.ErrNotExist
	}
	return at.path, at.links, err
}

// chosen says what of a path could be another thing tomorrow, "" for nothing: the link
// by which it leads on, the file, or a directory on the way that could be moved.
func (b *builder) chosen(at place) string {
	if l, w, ok := b.replaceable(at.links); ok {
		return fmt.Sprintf("%s may replace the symbolic link %s (%s)", w.Who, l.Path, w.Rule)
	}
	for p := at.path; ; p = path.Dir(p) {
		if w, ok := b.writer(p, Write); ok {
			return fmt.Sprintf("%s may write to %s (%s)", w.Who, p, w.Rule)
		}
		if p == "/" {
			return ""
		}
	}
}
