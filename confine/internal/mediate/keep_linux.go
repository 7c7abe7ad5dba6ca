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

// This file has the Keeper of package undo record what stands at a path before a call changes
// it. Each of its functions does nothing where nothing is kept. The callers hold m.names, and
// have judged the call. A call that fails afterwards has changed nothing, and its record says
// what stands there still.

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

// openInodes looks which inodes the server's processes have open for writing.
func (m *Mediator) openInodes() func(uint64) bool {
	list := proc.JailProcesses(proc.Dir)
	if m.hostNS {
		list = proc.Descendants
	}
	pids, err := list()
	inodes, all := proc.WritableInodes(pids)
	return func(inode uint64) bool { return err != nil || all || inodes[inode] }
}

// keeps reports whether changes at a path are kept: where a rule of the user grants it. What is
// the jail's own or the server's private HOME is not. No object moves from one to the other, or gets a
// name there, as if a mount were between them: else it could be changed where nothing is kept.
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

// keepName keeps what stands at a name that is about to be made or, with removed, removed.
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

// keepRename keeps what stands at both names of a rename.
func (m *Mediator) keepRename(from *pathRef, src string, to *pathRef, dst string, flags uint) {
	if (m.keeps(src) || m.keeps(dst)) && exists(from) {
		m.keeper.Rename(from.dir, from.name, src, to.dir, to.name, dst, flags&unix.RENAME_EXCHANGE != 0)
	}
}

// keepLink keeps the present name of a file that gets another one, since the file may then
// change by that name.
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
