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

// The functions keepContent to keepAttributes have the Keeper of package undo record the object
// at a path before a call changes it. They do nothing where nothing is kept. Their callers hold
// m.names, and have judged the call. If the call then fails, it has changed nothing, and the
// record describes the object that is still there.

// keepChanges makes the keeper, if the spec asks for one.
func (m *Mediator) keepChanges(o Options) {
	keep := o.Spec.Keep
	if !keep.On {
		return
	}
	m.keeper = &undo.Keeper{
		Journal: o.Kept[0], Data: o.Kept[1], SelfFD: m.selfFD, PerCall: keep.PerCall,
		FileBytes: int64(keep.FileMB) << 20, TotalBytes: int64(keep.TotalMB) << 20, JournalBytes: int64(keep.JournalKB) << 10,
		Outside: sys.OnUnrestrictedThread,
		Open:    m.openInodes,
		Tell: func(text string) {
			o.Send(spec.Event{Kind: spec.EventNote, Step: spec.NoteWarning, Detail: "undo: " + text})
		},
	}
}

// CallBegins keeps the files again that the server has open for writing: a call has begun.
func (m *Mediator) CallBegins() {
	if m.keeper != nil {
		m.keeper.CallBegins()
	}
}

// openInodes returns a function that reports whether a process of the server has an inode open
// for writing. If that cannot be told, the function reports true.
func (m *Mediator) openInodes() func(uint64) bool {
	list := proc.JailProcesses(proc.Dir)
	if m.hostNS {
		list = proc.Descendants
	}
	pids, err := list()
	inodes, all := proc.WritableInodes(pids)
	return func(inode uint64) bool { return err != nil || all || inodes[inode] }
}

// keeps reports whether changes at a path are kept: a rule of the user grants the path. Changes
// in the jail's own files and in the server's private HOME are not kept. Between a path that is
// kept and one that is not, renames and links fail as between two mounts. Else the server could
// change an object at a path where nothing is kept.
func (m *Mediator) keeps(full string) bool {
	if m.keeper == nil {
		return false
	}
	e, ok := m.profile.Find(full)
	return ok && e.Origin != policy.OriginHome && e.Origin != policy.OriginBaseline
}

// keepContent keeps the content of an object that is about to be opened for writing.
func (m *Mediator) keepContent(o *object) {
	if o.kind == unix.S_IFREG && m.keeps(o.full) {
		m.keeper.Content(o.fd, o.full)
	}
}

// keepName keeps the object at a name that is about to be made or, with removed, removed.
func (m *Mediator) keepName(at *pathRef, full string, removed bool) {
	if !at.special() && m.keeps(full) {
		m.keeper.Name(at.dir, at.name, full, removed)
	}
}

// keepMade notes that an open has made a file, or that the name existed already.
func (m *Mediator) keepMade(fd int, full string, errno syscall.Errno) {
	switch {
	case !m.keeps(full):
	case errno == 0:
		m.keeper.Made(fd, full)
	case errno == unix.EEXIST:
		m.keeper.NotMade(full)
	}
}

// keepRename keeps the objects at both names of a rename.
func (m *Mediator) keepRename(from *pathRef, src string, to *pathRef, dst string, flags uint) {
	if (m.keeps(src) || m.keeps(dst)) && exists(from) {
		m.keeper.Rename(from.dir, from.name, src, to.dir, to.name, dst, flags&unix.RENAME_EXCHANGE != 0)
	}
}

// keepLink keeps the attributes of a file that gets another name, and the absence of that name.
// The file may then change by the new name.
func (m *Mediator) keepLink(source int, to *pathRef, full string) {
	if !m.keeps(full) {
		return
	}
	if src, errno := m.pathOfFD(source); errno == 0 && m.keeps(src) {
		m.keeper.Attributes(source, src)
	}
	m.keeper.Name(to.dir, to.name, full, false)
}

// keepAttributes keeps mode, owner and times of an object.
func (m *Mediator) keepAttributes(object int, full string) {
	if m.keeps(full) {
		m.keeper.Attributes(object, full)
	}
}
