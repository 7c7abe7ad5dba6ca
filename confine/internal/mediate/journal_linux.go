package mediate

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

// journal has the Keeper of package undo copy what is at a path before a call changes it. Its methods do
// nothing if no changes are kept. Their callers hold Mediator.names, have judged the call, and return an
// errno of these methods: what cannot be kept must not be changed. If the call then fails, it has changed
// nothing, and the record describes what is still there.
type journal struct {
	keeper *undo.Keeper // nil if no changes are kept
	judge  *judge
	hostNS bool // the jail has no PID namespace of its own
}

func newJournal(o Options, j *judge, selfFD int) journal {
	k := journal{judge: j, hostNS: o.Spec.HostNS}
	keep := o.Spec.Keep
	if !keep.On {
		return k
	}
	k.keeper = &undo.Keeper{
		Journal: os.NewFile(uintptr(o.Kept[0]), "journal"), Data: os.NewFile(uintptr(o.Kept[1]), "data"), SelfFD: selfFD, PerCall: keep.PerCall,
		FileBytes: policy.UndoFileMB << 20, TotalBytes: int64(keep.TotalMB) << 20,
		Outside: sys.OnUnrestrictedThread,
		Open:    k.openInodes,
		Tell: func(text string) {
			o.Send(spec.Event{Kind: spec.EventNote, Step: spec.NoteWarning, Detail: "undo: " + text})
		},
	}
	return k
}

// Call says that a call of the server begins or, if ends is set, that none runs any more.
func (m *Mediator) Call(ends bool) {
	switch {
	case m.journal.keeper == nil:
	case ends:
		m.journal.keeper.CallEnds()
	default:
		m.journal.keeper.CallBegins()
	}
}

// openInodes returns a function that reports whether a process of the server has an inode open
// for writing. If that cannot be told, the function reports true.
func (k *journal) openInodes() func(uint64) bool {
	list := sys.JailProcesses(sys.Dir)
	if k.hostNS {
		list = sys.Descendants
	}
	pids, err := list()
	inodes, all := sys.WritableInodes(pids)
	return func(inode uint64) bool { return err != nil || all || inodes[inode] }
}

// keeps reports whether changes at a path are kept: a rule of the user grants the path. Changes
// in the jail's own files, in the server's private HOME and in a copy that is thrown away are not
// kept. Between a path that is
// kept and one that is not, renames and links fail as between two mounts. Else the server could
// change an object at a path whose changes are not kept.
func (k *journal) keeps(full string) bool {
	if k.keeper == nil {
		return false
	}
	e, ok := k.judge.profile.Find(full)
	return ok && e.Origin != policy.OriginHome && e.Origin != policy.OriginBaseline && !e.Ephemeral
}

func (k *journal) object(fd int, full string) syscall.Errno {
	if !k.keeps(full) {
		return 0
	}
	return sys.ErrnoOrEIO(k.keeper.Object(fd, full))
}

func (k *journal) name(at *pathRef, full string) syscall.Errno {
	if at.special() || !k.keeps(full) {
		return 0
	}
	return sys.ErrnoOrEIO(k.keeper.Name(at.dir, at.name, full))
}

// made says that an open object has the name full now, or is about to get it.
func (k *journal) made(fd int, full string) {
	if k.keeps(full) {
		k.keeper.Made(fd, full)
	}
}

// rename keeps what is at both names. The paths below a directory that is not empty would change
// without a call that names them, so its rename fails as between two mounts, and programs copy.
func (k *journal) rename(from *pathRef, src string, to *pathRef, dst string, flags uint) syscall.Errno {
	if !k.keeps(src) && !k.keeps(dst) || !exists(from) {
		return 0
	}
	if hasEntries(from) || flags&unix.RENAME_EXCHANGE != 0 && hasEntries(to) {
		return unix.EXDEV
	}
	for _, way := range []struct {
		at       *pathRef
		own, new string
	}{{from, src, dst}, {to, dst, src}} {
		if errno := k.name(way.at, way.own); errno != 0 {
			return errno
		}
		if fd, err := unix.Openat(way.at.dir, way.at.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0); err == nil {
			k.made(fd, way.new)
			unix.Close(fd)
		}
	}
	return 0
}

// hasEntries reports whether something is in the directory at a reference. If that cannot be told, it
// reports true.
func hasEntries(at *pathRef) bool {
	fd, err := unix.Openat(at.dir, at.name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err != unix.ENOTDIR && err != unix.ELOOP && err != unix.ENOENT
	}
	dir := os.NewFile(uintptr(fd), at.name)
	defer dir.Close()
	_, err = dir.Readdirnames(1)
	return err != io.EOF
}

// link keeps a file that gets another name, and the absence of that name. The file may then change by
// the new name.
func (k *journal) link(source int, to *pathRef, src, full string) syscall.Errno {
	if !k.keeps(full) {
		return 0
	}
	if errno := k.object(source, src); errno != 0 {
		return errno
	}
	if errno := k.name(to, full); errno != 0 {
		return errno
	}
	k.made(source, full)
	return 0
}
