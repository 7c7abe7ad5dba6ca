package policy

import (
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"
)

// Op is one thing that a process does to one path.
type Op uint8

const (
	OpRead       Op = iota + 1 // open a file for reading
	OpList                     // list a directory
	OpExec                     // start a file
	OpWrite                    // open a file that exists for writing
	OpTruncate                 // cut a file that exists
	OpCreate                   // make a file, link, fifo or socket
	OpMkdir                    // make a directory
	OpRemove                   // remove a file or an empty directory
	OpSymlink                  // make a symbolic link: for Mediate only, as the next
	OpAttributes               // change the mode, owner, times or attributes of what exists
)

var opNames = [...]string{OpRead: "read", OpList: "list", OpExec: "execute", OpWrite: "write", OpTruncate: "truncate", OpCreate: "create", OpMkdir: "mkdir", OpRemove: "remove", OpSymlink: "create", OpAttributes: "write"}

// String is the word that messages use.
func (o Op) String() string {
	return nameOf(opNames[:], o)
}

// Allows reports whether the profile allows an operation on a path, which must be canonical,
// absolute and clean. It computes without side effects the decision that the jail enforces.
// The directory of a name decides about creating and removing it; the entry of the path
// itself decides about everything else (docs/policy.md).
//
// Protected names in a grant are refused even if they do not exist. On Linux the jail's
// supervisor enforces that.
//
// Invariant: the set of paths that can be read, listed or executed never grows when an entry
// loses rights or when an entry without rights is added.
func (p *Profile) Allows(op Op, path string) bool {
	switch op {
	case OpRead, OpList:
		return p.RightsAt(path).Has(Read)
	case OpExec:
		return p.RightsAt(path).Has(Execute) && (p.Programs == nil || slices.Contains(p.Programs, path))
	case OpWrite, OpTruncate:
		return p.RightsAt(path).Has(Update) && !p.Protects(op, path)
	case OpCreate, OpMkdir:
		return p.creatable(path) && !p.Protects(op, path)
	case OpRemove:
		return p.removable(path) && !p.Protects(op, path)
	}
	return false
}

func (p *Profile) creatable(name string) bool {
	return p.RightsAt(path.Dir(name)).Has(Create) && !p.containsEntry(name)
}

func (p *Profile) removable(name string) bool {
	return name != "/" && p.RightsAt(path.Dir(name)).Has(Delete) && !p.containsEntry(name)
}

// MinimalEntries returns the entries without those of files for which the same FileRights hold as
// around them, and which lack none of the other rights; enforcement does not need these. Such a file is like its
// neighbours and may be replaced: programs save files that way, and `git config` replaces
// .git/config.
func (p *Profile) MinimalEntries() []Entry {
	return slices.DeleteFunc(slices.Clone(p.Entries), p.isRedundant)
}

// FileRights are the rights of a file itself. The entry of its directory decides about
// creating and deleting it.
const FileRights = Read | Update | Execute

func (p *Profile) isRedundant(e Entry) bool {
	if e.Kind != KindFile || e.Origin != OriginRule || e.Rights&FileRights == 0 {
		return false
	}
	around, ok := p.Find(path.Dir(e.Path))
	return ok && around.Origin == OriginRule && around.Rights&FileRights == e.Rights&FileRights && e.Rights.Has(around.Rights)
}

// containsEntry reports whether a minimal entry is at or below path. Such a name is pinned:
// it must keep its place.
func (p *Profile) containsEntry(path string) bool {
	i := sort.Search(len(p.Entries), func(i int) bool { return p.Entries[i].Path >= path })
	if i < len(p.Entries) && p.Entries[i].Path == path && !p.isRedundant(p.Entries[i]) {
		return true
	}
	below := strings.TrimSuffix(path, "/") + "/"
	i = sort.Search(len(p.Entries), func(i int) bool { return p.Entries[i].Path >= below })
	for ; i < len(p.Entries) && strings.HasPrefix(p.Entries[i].Path, below); i++ {
		if !p.isRedundant(p.Entries[i]) {
			return true
		}
	}
	return false
}

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
