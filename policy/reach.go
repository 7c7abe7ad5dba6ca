package policy

import (
	"fmt"
	"path"
	"slices"
)

// Reach lists where servers may write: every process of this server under each of its
// policies, and all other servers of the configuration. These servers count as one adversary.
// None of them may write a file that is read, run or followed outside the jail, or that widens
// a policy. Resolve builds the Reach before the profile, and every such check asks it.
//
// Reach errs on the safe side: it counts every right that a rule may grant. Of the
// exceptions of a profile it only counts those with a fixed path.
type Reach struct {
	Writers []WriterRules
	// Protected are paths that no server may write to unless a rule names them or something
	// in them.
	Protected []string
}

// WriterRules are the paths of one policy's rules, which add up.
type WriterRules struct {
	Name  string
	Rules map[string]WriteGrant
}

// A WriteGrant is what the rules for one path grant and deny there.
type WriteGrant struct {
	Rights Rights
	Deny   Rights `json:",omitempty"`
	Rule   string
	// InHome reports that the path is a private HOME, in which nothing is hidden or
	// protected.
	InHome bool
}

// Writer is a policy that lets its process write to a path.
type Writer struct {
	Name string // `the tool "x"`, as the subject of a sentence
	Rule string // the policy's rule, with its place
}

// Writer returns a policy that has one of the rights at a canonical path.
func (r *Reach) Writer(path string, rights Rights) (Writer, bool) {
	for _, w := range r.Writers {
		if place := w.Sum(path, r.Protected); place.Rights&rights != 0 {
			return Writer{w.Name, place.Rule}, true
		}
	}
	return Writer{}, false
}

// Sum returns what the rules together grant at p, and the innermost rule that lets the server write there. Rights
// from above stop at a protected path. In a HOME nothing is protected, and nothing comes from above.
func (w WriterRules) Sum(p string, protected []string) (sum WriteGrant) {
	stopped := false
	for {
		place := w.Rules[p]
		if !stopped || place.InHome {
			if sum.Rule == "" || sum.Rights&Write == 0 && place.Rights&Write != 0 {
				sum.Rule = place.Rule
			}
			sum.Rights |= place.Rights
		}
		sum.Deny |= place.Deny
		stopped = stopped || slices.Contains(protected, p)
		parent := path.Dir(p)
		if place.InHome || parent == p || parent == "." { // a path of Windows has no slash
			sum.Rights &^= sum.Deny
			return sum
		}
		p = parent
	}
}

// HasRuleFor reports whether any policy has a rule with one of the rights for dir or for a
// path in it.
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

// Writer returns a policy that may write to a path: see [Reach]. A profile that Resolve has
// not made knows only itself.
func (p *Profile) Writer(path string, rights Rights) (Writer, bool) {
	if p.Reach != nil {
		return p.Reach.Writer(path, rights)
	}
	e, _ := p.Find(path)
	return Writer{"the server", e.Rule}, e.Rights&rights != 0
}

// DisplayName returns the name of p in messages about the policy current.
func (p *Policy) DisplayName(current *Policy) string {
	name, of := "the server", ""
	if p.Server != current.Server {
		name, of = fmt.Sprintf("the server %q", p.Server), fmt.Sprintf(" of the server %q", p.Server)
	}
	switch {
	case p == current || p.Stateful:
		return name
	case p.Tool == "":
		return "the process that lists the tools" + of
	}
	return fmt.Sprintf("the tool %q", p.Tool) + of
}
