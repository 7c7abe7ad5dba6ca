package mediate

import (
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/undo"
	"golang.org/x/sys/unix"
)

// journal has the Keeper of package undo record the object at a path before a call changes it. Its
// methods do nothing if no changes are kept. Their callers hold Mediator.names, and have judged the
// call. If the call then fails, it has changed nothing, and the record describes the object that
// is still there.
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
		Journal: o.Kept[0], Data: o.Kept[1], SelfFD: selfFD, PerCall: keep.PerCall,
		FileBytes: policy.UndoFileMB << 20, TotalBytes: int64(keep.TotalMB) << 20, JournalBytes: int64(keep.JournalKB) << 10,
		Outside: sys.OnUnrestrictedThread,
		Open:    k.openInodes,
		Tell: func(text string) {
			o.Send(spec.Event{Kind: spec.EventNote, Step: spec.NoteWarning, Detail: "undo: " + text})
		},
	}
	return k
}

// CallBegins keeps the files again that the server has open for writing: a call has begun.
func (m *Mediator) CallBegins() {
	if m.journal.keeper != nil {
		m.journal.keeper.CallBegins()
	}
}

// openInodes returns a function that reports whether a process of the server has an inode open
// for writing. If that cannot be told, the function reports true.
func (k *journal) openInodes() func(uint64) bool {
	list := proc.JailProcesses(proc.Dir)
	if k.hostNS {
		list = proc.Descendants
	}
	pids, err := list()
	inodes, all := proc.WritableInodes(pids)
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

func (k *journal) content(o *object) {
	if o.kind == unix.S_IFREG && k.keeps(o.full) {
		k.keeper.Content(o.fd, o.full)
	}
}

func (k *journal) name(at *pathRef, full string, removed bool) {
	if !at.special() && k.keeps(full) {
		k.keeper.Name(at.dir, at.name, full, removed)
	}
}

func (k *journal) made(fd int, full string, errno syscall.Errno) {
	switch {
	case !k.keeps(full):
	case errno == 0:
		k.keeper.Made(fd, full)
	case errno == unix.EEXIST:
		k.keeper.NotMade(full)
	}
}

func (k *journal) rename(from *pathRef, src string, to *pathRef, dst string, flags uint) {
	if (k.keeps(src) || k.keeps(dst)) && exists(from) {
		k.keeper.Rename(from.dir, from.name, src, to.dir, to.name, dst, flags&unix.RENAME_EXCHANGE != 0)
	}
}

// link keeps the attributes of a file that gets another name, and the absence of that name.
// The file may then change by the new name.
func (k *journal) link(source int, to *pathRef, full string) {
	if !k.keeps(full) {
		return
	}
	if src, errno := k.judge.pathOfFD(source); errno == 0 && k.keeps(src) {
		k.keeper.Attributes(source, src)
	}
	k.keeper.Name(to.dir, to.name, full, false)
}

func (k *journal) attributes(object int, full string) {
	if k.keeps(full) {
		k.keeper.Attributes(object, full)
	}
}
