package policy

import (
	"strings"
)

// Rights is the set of things that may be done below a path. The five are
// separate in the policy and in the kernel.
type Rights uint8

const (
	Read    Rights = 1 << iota // open to read, list
	Create                     // new names: files, directories, links
	Update                     // open to write, truncate
	Delete                     // remove names
	Execute                    // start as a program
)

const (
	// Write is what the `write` alias stands for.
	Write = Create | Update | Delete
	// AllRights is every right there is.
	AllRights = Read | Write | Execute
)

// RightNames are the names of the rights, in the order of the configuration.
var RightNames = []struct {
	Right Rights
	Name  string
}{
	{Read, "read"}, {Create, "create"}, {Update, "update"}, {Delete, "delete"}, {Execute, "execute"},
}

// Has reports whether r contains every right of want.
func (r Rights) Has(want Rights) bool { return r&want == want }

// String names the rights in the order of the configuration, with the alias
// `write` where all three of its rights are present: "read write execute".
// The empty set is "nothing".
func (r Rights) String() string {
	if r == 0 {
		return "nothing"
	}
	var names []string
	for _, n := range RightNames {
		switch {
		case n.Right == Create && r.Has(Write):
			names = append(names, "write")
		case Write.Has(n.Right) && r.Has(Write):
		case r.Has(n.Right):
			names = append(names, n.Name)
		}
	}
	return strings.Join(names, " ")
}
