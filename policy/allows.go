package policy

import (
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
	if int(o) < len(opNames) && o != 0 {
		return opNames[o]
	}
	return "unknown"
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
