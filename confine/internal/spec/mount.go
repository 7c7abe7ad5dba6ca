package spec

import (
	"slices"

	"github.com/mcp-jail/mcp-jail/policy"
)

// mountOp is one thing that the shim attaches to the jail's root. The list is
// in order: what is attached first lies below what comes later.
type Mount struct {
	Kind     mountKind
	Path     string // absolute, the same name inside and outside
	IsDir    bool
	ReadOnly bool
	NoExec   bool
	Dev      bool          // device nodes keep working
	ID       policy.FileID // the object that must be found at path; zero: not checked
	// inside is set where path lies within something attached before: it must
	// exist already, because nothing is ever created on the host. Otherwise the
	// name is made in the jail's own root.
	OnExisting bool
	// copied is set where path lies in a copy: what is found there is no object of
	// the host's, and has another identity.
	InOverlay bool
	// hidden is set where that name lies in a mask with holes: the directories
	// that are made on the way to it are as shut as the mask.
	UnderMask bool
	// holes is set on a mask below which something is granted again: such a mask
	// can be passed through, but not listed.
	Traversable bool
}

type mountKind uint8

const (
	MountBind    mountKind = iota + 1 // the host's object
	MountMask                         // an empty, unreadable stand-in
	MountTmpfs                        // a private, size-limited directory
	MountOverlay                      // the host's directory, and changes that only the jail sees
	MountPin                          // what is there already, once more
)

// cloned tells of a mount of something of the host's, which is cloned before
// anything is attached.
func (op *Mount) Cloned() bool { return op.Kind == MountBind || op.Kind == MountOverlay }

// inMemory tells of a filesystem of the jail's own that the server can fill.
func (op *Mount) InMemory() bool { return op.Kind == MountTmpfs || op.Kind == MountOverlay }

// ownPlaces are the directories of every jail that are not the host's, with
// what Landlock grants in them.
var PrivateDirs = []string{"/tmp", "/dev/shm"}

// deviceNodes are bound from the host: a user namespace cannot make its own.
var DeviceNodes = []string{"null", "zero", "full", "random", "urandom", "tty"}

// passed tells that there are names that another spelling leads past the mount of.
func BypassesMount(names []policy.FoldedName) bool {
	return slices.ContainsFunc(names, func(f policy.FoldedName) bool { return f.BypassesMount })
}
