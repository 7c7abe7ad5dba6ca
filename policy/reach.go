package policy

import (
	"fmt"
	"path"
	"slices"
)

// Reach is where the processes may write that are one adversary: each process of a
// server, whatever its policy, and those of the other servers of the configuration.
// Whatever is read, run or followed outside of a jail, or widens a policy, must not be
// theirs. It is made once, before a profile, and every check of that kind asks it.
//
// It errs to one side: what a rule may come to grant counts from the beginning, and of
// what a profile takes away from its rules only that counts which has a fixed place.
type Reach struct {
	Writers   []WriterRules
	Protected []string // no writer has them but by a rule for them, or in them
}

// reacher is one policy, by the paths of its rules: the longest one decides.
type WriterRules struct {
	Name  string
	Rules map[string]WriteGrant
}

type WriteGrant struct {
	Rights Rights
	Rule   string
	InHome bool // of a server, in which nothing is hidden or protected
}

// Writer is a policy that lets its process write to a path.
type Writer struct {
	Name string // `the tool "x"`, as the subject of a sentence
	Rule string // of it, with its place
}

// Writer finds a policy that has one of the rights at a canonical path.
func (r *Reach) Writer(path string, rights Rights) (Writer, bool) {
	for _, w := range r.Writers {
		at, place := w.Find(path)
		kept := func(k string) bool { return !place.InHome && Within(path, k) && !Within(at, k) }
		if place.Rights&rights != 0 && !slices.ContainsFunc(r.Protected, kept) {
			return Writer{w.Name, place.Rule}, true
		}
	}
	return Writer{}, false
}

func (w WriterRules) Find(p string) (at string, place WriteGrant) {
	for {
		if place, ok := w.Rules[p]; ok {
			return p, place
		}
		if p == "/" {
			return p, WriteGrant{}
		}
		p = path.Dir(p)
	}
}

// HasRuleFor reports whether a policy has a rule with one of the rights for a path, or for
// something in it.
func (p *Profile) HasRuleFor(dir string, rights Rights) bool {
	for _, e := range p.Entries {
		if e.Rights&rights != 0 && Within(e.Path, dir) {
			return true
		}
	}
	if p.Reach == nil {
		return false
	}
	for _, w := range p.Reach.Writers {
		for at, place := range w.Rules {
			if place.Rights&rights != 0 && Within(at, dir) {
				return true
			}
		}
	}
	return false
}

// Writer finds what may write to a path: see [Reach]. A profile that Resolve has not
// made knows of itself alone.
func (p *Profile) Writer(path string, rights Rights) (Writer, bool) {
	if p.Reach != nil {
		return p.Reach.Writer(path, rights)
	}
	e, _ := p.Find(path)
	return Writer{"the server", e.Rule}, e.Rights&rights != 0
}

// nameBeside is what messages about the policy of is call p.
func (p *Policy) DisplayName(is *Policy) string {
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
