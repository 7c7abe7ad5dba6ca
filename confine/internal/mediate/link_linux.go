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
	op := policy.OpCreate
	var st unix.Stat_t
	if unix.Fstat(source, &st) != nil || st.Mode&unix.S_IFMT == unix.S_IFLNK {
		op = policy.OpSymlink
	}
	full, errno := m.judge.decideName(r, op, to)
	if errno != 0 {
		return errno
	}
	if errno := m.checkLink(r, source, full); errno != 0 {
		return errno
	}
	if errno := m.journal.link(source, to, full); errno != 0 {
		return errno
	}
	// The link is made from the open file that was judged, not from its name.
	name := proc.FDFile(source)
	errno = step.ErrnoOrEIO(unix.Linkat(proc.DirFD, name, to.dir, to.name+to.tail, unix.AT_SYMLINK_FOLLOW))
	if errno == 0 {
		errno = m.judge.undoIfMoved(r, op, to, full)
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

// checkLink returns EXDEV, as at the boundary of a mount, where the new name of a file would
// give more rights than its present name. A protected file that the host has made or replaced
// since the start has no mount, so no mount refuses the link. checkLink decides about the open
// file, so a change of the source name has no effect.
func (m *Mediator) checkLink(r *Request, source int, dst string) syscall.Errno {
	src, errno := pathOf(source)
	if errno != 0 {
		return errno
	}
	if m.judge.profile.Mediate(policy.OpWrite, src) != policy.Granted && m.judge.profile.Mediate(policy.OpWrite, dst) == policy.Granted {
		m.judge.reporter.Refused(r, policy.OpWrite.String(), src)
		return unix.EXDEV
	}
	if m.journal.keeps(src) != m.journal.keeps(dst) || m.judge.hostNS && m.judge.profile.WidensRights(src, dst) {
		return unix.EXDEV
	}
	return 0
}
