package mediator

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy"
)

func (m *Mediator) changeName(r *request, w *resolver) syscall.Errno {
	at, errno := w.resolve(r.bases[0], r.names[0])
	defer at.close()
	if errno != 0 && r.Op != seccomp.OpLink {
		return m.judge.recordMissing(r, 0, errno)
	}
	if r.Op == seccomp.OpRename || r.Op == seccomp.OpLink {
		to, refused := w.resolve(r.bases[1], r.names[1])
		defer to.close()
		name := 0
		if errno == 0 || errno == refused { // where both names of a link are missing, the new one tells more
			name, errno = 1, refused
		}
		if errno != 0 {
			return m.judge.recordMissing(r, name, errno)
		}
		if r.Op == seccomp.OpLink {
			return m.link(r, w, &at, &to)
		}
		return m.rename(r, &at, &to)
	}
	// From the verdict to the act no rename of this jail may move the directory.
	m.names.RLock()
	defer m.names.RUnlock()
	op := opOf(r.Op)
	full, errno := m.judge.decideName(r, op, &at)
	if errno != 0 {
		return errno
	}
	if errno := m.Journal.Name(at.withPath(full)); errno != 0 {
		return errno
	}
	errno = applyChange(r, &at)
	if errno == 0 && r.Op != seccomp.OpRemove {
		errno = m.judge.undoIfMoved(r, op, &at, full)
	}
	return m.judge.recordRefusalAt(r, op, &at, errno)
}

func applyChange(r *request, at *pathRef) syscall.Errno {
	name := at.name + at.tail
	switch r.Op {
	case seccomp.OpMkdir:
		unix.Umask(r.umask)
		return sys.ErrnoOrEIO(unix.Mkdirat(at.dir, name, uint32(r.arg(r.Mode))))
	case seccomp.OpMknod:
		unix.Umask(r.umask)
		return sys.ErrnoOrEIO(unix.Mknodat(at.dir, name, uint32(r.arg(r.Mode)), int(r.arg(r.Mode+1))))
	case seccomp.OpSymlink:
		return sys.ErrnoOrEIO(unix.Symlinkat(r.text, at.dir, name))
	case seccomp.OpRemove:
		return sys.ErrnoOrEIO(unix.Unlinkat(at.dir, name, r.removeFlags()))
	}
	return unix.ENOSYS
}

func (r *request) removeFlags() int {
	if r.Call == "rmdir" {
		return unix.AT_REMOVEDIR
	}
	return int(int32(r.arg(r.Flags)))
}

func (m *Mediator) link(r *request, w *resolver, from, to *pathRef) syscall.Errno {
	flags := int(int32(r.arg(r.Flags)))
	if flags&^(unix.AT_SYMLINK_FOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return unix.EINVAL
	}
	source, errno := w.openObject(from, flags&unix.AT_SYMLINK_FOLLOW != 0)
	if errno != 0 {
		return errno
	}
	defer unix.Close(source)
	m.names.RLock()
	defer m.names.RUnlock()
	switch {
	case exists(to):
		return unix.EEXIST
	case !sameMount(source, to.dir):
		return unix.EXDEV
	}
	src, errno := pathOf(source)
	if errno != 0 {
		return errno
	}
	dst, errno := to.full()
	if errno != 0 {
		return errno
	}
	var st unix.Stat_t
	op := policy.OpCreate
	if unix.Fstat(source, &st) != nil || st.Mode&unix.S_IFMT == unix.S_IFLNK {
		op = policy.OpSymlink
	}
	verdict := m.judge.profile.MediateLink(op, src, dst, !m.judge.hostNS)
	if verdict == policy.Crossing && !m.judge.profile.Allows(policy.OpWrite, src) {
		m.judge.reporter.Refused(&r.n, policy.OpWrite.String(), src)
	}
	if errno := m.judge.verdict(r, policy.OpCreate.String(), dst, to, verdict); errno != 0 {
		return errno
	}
	if m.Journal.Keeps(src) != m.Journal.Keeps(dst) {
		return unix.EXDEV
	}
	if errno := m.Journal.Link(source, src, to.withPath(dst)); errno != 0 {
		return errno
	}
	// The link is made from the open file that was judged, not from its name.
	name := sys.FDFile(source)
	errno = sys.ErrnoOrEIO(unix.Linkat(sys.DirFD, name, to.dir, to.name+to.tail, unix.AT_SYMLINK_FOLLOW))
	if errno == 0 {
		errno = m.judge.undoIfMoved(r, op, to, dst)
	}
	return m.judge.recordRefusalAt(r, policy.OpCreate, to, errno)
}
