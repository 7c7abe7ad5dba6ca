package spec

import (
	"github.com/mcp-jail/mcp-jail/policy"
)

// mountOp is one thing that the shim attaches to the jail's root. The list is
// in order: what is attached first lies below what comes later.
type MountOp struct {
	Kind   mountKind
	Path   string // absolute, the same name inside and outside
	Dir    bool
	Ro     bool
	Noexec bool
	Dev    bool          // device nodes keep working
	Id     policy.FileID // the object that must be found at path; zero: not checked
	// inside is set where path lies within something attached before: it must
	// exist already, because nothing is ever created on the host. Otherwise the
	// name is made in the jail's own root.
	Inside bool
	// copied is set where path lies in a copy: what is found there is no object of
	// the host's, and has another identity.
	Copied bool
	// hidden is set where that name lies in a mask with holes: the directories
	// that are made on the way to it are as shut as the mask.
	Hidden bool
	// holes is set on a mask below which something is granted again: such a mask
	// can be passed through, but not listed.
	Holes bool
}

type mountKind uint8

const (
	MountBind  mountKind = iota + 1 // the host's object
	MountMask                       // an empty, unreadable stand-in
	MountTmpfs                      // a private, size-limited directory
	MountCopy                       // the host's directory, and changes that only the jail sees
	MountPin                        // what is there already, once more
)

// cloned tells of a mount of something of the host's, which is cloned before
// anything is attached.
func (op *MountOp) Cloned() bool { return op.Kind == MountBind || op.Kind == MountCopy }

// inMemory tells of a filesystem of the jail's own that the server can fill.
func (op *MountOp) InMemory() bool { return op.Kind == MountTmpfs || op.Kind == MountCopy }

// ownPlaces are the directories of every jail that are not the host's, with
// what Landlock grants in them.
var OwnPlaces = []string{"/tmp", "/dev/shm"}
