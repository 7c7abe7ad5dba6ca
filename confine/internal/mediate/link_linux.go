package mediate

import (
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

func (m *Mediator) link(r *Request, w *resolver, from, to *pathRef) syscall.Errno {
	flags := int(int32(r.arg(r.Flags)))
	if flags&^(unix.AT_SYMLINK_FOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return unix.EINVAL
	}
	source, errno := w.openSource(from, flags&unix.AT_SYMLINK_FOLLOW != 0)
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
		m.judge.reporter.Refused(r, policy.OpWrite.String(), src)
	}
	if errno := m.judge.verdict(r, policy.OpCreate.String(), dst, to, verdict); errno != 0 {
		return errno
	}
	if m.journal.keeps(src) != m.journal.keeps(dst) {
		return unix.EXDEV
	}
	if errno := m.journal.link(source, to, src, dst); errno != 0 {
		return errno
	}
	// The link is made from the open file that was judged, not from its name.
	name := proc.FDFile(source)
	errno = step.ErrnoOrEIO(unix.Linkat(proc.DirFD, name, to.dir, to.name+to.tail, unix.AT_SYMLINK_FOLLOW))
	if errno == 0 {
		errno = m.judge.undoIfMoved(r, op, to, dst)
	}
	return m.judge.recordRefusalAt(r, policy.OpCreate, to, errno)
}

func (w *resolver) openSource(from *pathRef, follow bool) (int, syscall.Errno) {
	if follow {
		return w.object(from)
	}
	flags := unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC
	if from.tail != "" {
		flags |= unix.O_DIRECTORY
	}
	fd, err := unix.Openat(from.dir, from.name, flags, 0)
	return fd, step.ErrnoOrEIO(err)
}
