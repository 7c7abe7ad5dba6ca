// Package journal has the Keeper of package undo copy what is at a path before a call of the server
// changes it, if Spec.Keep is on.
//
// The workers of package mediator call it. They hold the lock of the names, have judged the call, and return
// an errno of these methods: what cannot be kept must not be changed. If the call then fails, it has changed
// nothing, and the record describes what is still there. Begin at Journal.Name and Journal.Object: they
// read the objects, and write the two files of the Keeper alone.
package journal

import (
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/undo"
)

// Journal keeps what the server changes. The zero value keeps nothing.
type Journal struct {
	keeper  *undo.Keeper // nil if no changes are kept
	profile *policy.Profile
	hostNS  bool // the jail has no PID namespace of its own
}

// At is a name in an open directory, and its path.
type At struct {
	Dir        int
	Name, Full string // Full is "" for "." and "..", which no call changes
}

// New returns the journal of a jail. files are those of the Keeper, selfFD is /proc/self/fd, and send tells the launcher.
func New(jail *spec.Spec, files []int, selfFD int, send func(spec.Event)) (k Journal) {
	keep := jail.Keep
	if !keep.On {
		return k
	}
	k.profile, k.hostNS = &jail.Profile, jail.HostNS
	k.keeper = &undo.Keeper{
		Journal: os.NewFile(uintptr(files[0]), "journal"), Data: os.NewFile(uintptr(files[1]), "data"), SelfFD: selfFD, PerCall: keep.PerCall,
		FileBytes: policy.UndoFileMB << 20, TotalBytes: int64(keep.TotalMB) << 20,
		Outside: sys.OnUnrestrictedThread,
		Open:    k.openInodes,
		Tell: func(text string) {
			send(spec.Event{Kind: spec.EventNote, Step: spec.NoteWarning, Detail: "undo: " + text})
		},
	}
	return k
}

// Call says that a call of the server begins or, if ends is set, that none runs any more.
func (k *Journal) Call(ends bool) {
	switch {
	case k.keeper == nil:
	case ends:
		k.keeper.CallEnds()
	default:
		k.keeper.CallBegins()
	}
}

// openInodes returns a function that reports whether a process of the server has an inode open
// for writing. If that cannot be told, the function reports true.
func (k *Journal) openInodes() func(uint64) bool {
	list := sys.JailProcesses(sys.Dir)
	if k.hostNS {
		list = sys.Descendants
	}
	pids, err := list()
	inodes, all := sys.WritableInodes(pids)
	return func(inode uint64) bool { return err != nil || all || inodes[inode] }
}

// Keeps reports whether changes at a path are kept: a rule of the user grants the path. Changes
// in the jail's own files, in the server's private HOME and in a copy that is thrown away are not
// kept. Between a path that is kept and one that is not, renames and links fail as between two mounts.
// Else the server could change an object at a path whose changes are not kept.
func (k *Journal) Keeps(full string) bool {
	if k.keeper == nil {
		return false
	}
	e, ok := k.profile.Find(full)
	return ok && e.Origin != policy.OriginHome && e.Origin != policy.OriginBaseline && !e.Ephemeral
}

// Object keeps an open object that is about to be changed.
func (k *Journal) Object(fd int, full string) syscall.Errno {
	if !k.Keeps(full) {
		return 0
	}
	return sys.ErrnoOrEIO(k.keeper.Object(fd, full))
}

// Name keeps what is at a name, or that nothing is there.
func (k *Journal) Name(at At) syscall.Errno {
	if !k.Keeps(at.Full) {
		return 0
	}
	return sys.ErrnoOrEIO(k.keeper.Name(at.Dir, at.Name, at.Full))
}

// Made says that an open object has the name full now, or is about to get it.
func (k *Journal) Made(fd int, full string) {
	if k.Keeps(full) {
		k.keeper.Made(fd, full)
	}
}

// Rename keeps what is at both names. The paths below a directory that is not empty would change
// without a call that names them, so its rename fails as between two mounts, and programs copy.
func (k *Journal) Rename(from, to At, flags uint) syscall.Errno {
	if !k.Keeps(from.Full) && !k.Keeps(to.Full) || unix.Fstatat(from.Dir, from.Name, new(unix.Stat_t), unix.AT_SYMLINK_NOFOLLOW) != nil {
		return 0
	}
	if hasEntries(from) || flags&unix.RENAME_EXCHANGE != 0 && hasEntries(to) {
		return unix.EXDEV
	}
	for _, way := range [][2]At{{from, to}, {to, from}} {
		own, other := way[0], way[1]
		if errno := k.Name(own); errno != 0 {
			return errno
		}
		if fd, err := unix.Openat(own.Dir, own.Name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0); err == nil {
			k.Made(fd, other.Full)
			unix.Close(fd)
		}
	}
	return 0
}

// hasEntries reports whether something is in the directory at a reference. If that cannot be told, it
// reports true.
func hasEntries(at At) bool {
	fd, err := unix.Openat(at.Dir, at.Name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err != unix.ENOTDIR && err != unix.ELOOP && err != unix.ENOENT
	}
	dir := os.NewFile(uintptr(fd), at.Name)
	defer dir.Close()
	_, err = dir.Readdirnames(1)
	return err != io.EOF
}

// Link keeps a file that gets another name, and the absence of that name. The file may then change by
// the new name.
func (k *Journal) Link(source int, src string, to At) syscall.Errno {
	if !k.Keeps(to.Full) {
		return 0
	}
	if errno := k.Object(source, src); errno != 0 {
		return errno
	}
	if errno := k.Name(to); errno != 0 {
		return errno
	}
	k.Made(source, to.Full)
	return 0
}
