package spec

import (
	"github.com/mcp-jail/mcp-jail/policy"
)

// Mount is one mount in the jail's root. Mounts are attached in the order of the list, so a
// later one lies over an earlier one.
type Mount struct {
	Kind     mountKind
	Path     string // absolute, the same name inside and outside
	IsDir    bool
	ReadOnly bool
	NoExec   bool
	Dev      bool          // without nodev: device nodes keep working
	ID       policy.FileID // of the object that must be at Path; zero: not checked
	// OnExisting: Path lies in an earlier mount. The object must exist already, because the
	// jail creates nothing on the host. Otherwise the name is created in the jail's own root.
	OnExisting bool
	// InOverlay: Path lies in an overlay. The object there has another identity than the
	// host's.
	InOverlay bool
	// UnderMask: Path lies in a traversable mask. Directories that are created on the way to
	// it have the mode of that mask.
	UnderMask bool
	// Traversable: something below this mask is granted again. The server can pass through
	// the mask but cannot list it.
	Traversable bool
}

type mountKind uint8

const (
	MountBind    mountKind = iota + 1 // the host's object
	MountMask                         // an empty object without permissions, over one of the host's
	MountTmpfs                        // a private, size-limited directory
	MountOverlay                      // the host's directory; only the jail sees the changes
	MountPin                          // the object at Path bound onto itself, so that it cannot be renamed
)

// Cloned reports whether the mount shows an object of the host. Such objects are cloned
// before the first mount is attached.
func (op *Mount) Cloned() bool { return op.Kind == MountBind || op.Kind == MountOverlay }

// InMemory returns a path in each filesystem in memory that the server can fill.
func (o *Spec) InMemory() (paths []string) {
	for _, m := range o.Mounts {
		if m.Kind == MountTmpfs || m.Kind == MountOverlay {
			paths = append(paths, m.Path)
		}
	}
	return paths
}

// PrivateDirs are the directories that every jail has for itself.
var PrivateDirs = []string{"/tmp", "/dev/shm"}

// DeviceNodes are the device nodes that the jail binds from the host. A user namespace
// cannot create device nodes.
var DeviceNodes = []string{"null", "zero", "full", "random", "urandom", "tty"}
