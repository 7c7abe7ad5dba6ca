package mediator

import (
	"path"
	"strings"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// This file records refused opens that only read, and what stat, access, readlink, chdir and their like do not
// find, where the filter hands these calls over: if the launcher asks for it (Launcher.CertainReads), and opens
// also where a link in a grant leads to a sensitive path (Profile.LinksAstray). It decides nothing: a call that
// continues in the kernel can have other arguments by then.
//
// These calls are not seen: statfs and its like, which open nothing; opens with O_PATH, until the descriptor is
// opened once more by its link in /proc; and what the kernel itself opens for an exec (the interpreter of a
// script, the dynamic loader). A descriptor that came by a socket or from the start is no open. openat2 and
// io_uring do not exist in a jail, and open_by_handle_at is refused.

// onlyReads reports whether a request opens nothing for writing and the kernel decides it.
func (m *Mediator) onlyReads(r *request) bool {
	return r.Op == seccomp.OpLook || !m.judge.hostNS && r.Op == seccomp.OpOpen && r.openFlags()&seccomp.WritesOrCreates == 0
}

// passRead has a worker look at a call that only reads, and then lets it continue. A filesystem that hangs
// holds up that worker, and not the receiver.
func (m *Mediator) passRead(r *request) {
	if m.args.read(r) != 0 { // the kernel finds the same fault
		r.close()
		m.listener.Continue(r.n.Id)
		return
	}
	r.continues = true
	m.pass(r)
}

// watchRead looks at a call that only reads, as a worker.
func (m *Mediator) watchRead(r *request, w *resolver) {
	full, mode, errno := w.target(r.bases[0], r.names[0], r.openFlags()&unix.O_NOFOLLOW == 0)
	e, covered := m.judge.profile.Find(full)
	inHome := covered && e.Origin == policy.OriginHome // what is missing there, the user's own may have
	switch {
	case full == "", r.Op == seccomp.OpLook && errno != unix.ENOENT: // a look at what is there succeeds
	case errno == unix.ENOENT && (inHome || !m.judge.profile.Allows(policy.OpRead, full)):
		m.Reporter.Report(&r.n, policy.AxisFs, policy.OpRead.String(), full, true)
	case !m.judge.profile.Allows(policy.OpRead, full):
		m.Reporter.Report(&r.n, policy.AxisFs, readOp(mode), full, false)
	}
}

func readOp(mode uint32) string {
	if mode&unix.S_IFMT == unix.S_IFDIR {
		return policy.OpList.String()
	}
	return policy.OpRead.String()
}

// target returns the path to which a name leads, and the mode of what is there.
// The errno is ENOENT if the jail has nothing at the path, and EACCES if it does not let the
// supervisor look. full is "" if an open fails under every policy, or leads into another
// process. The link at the end is followed if follow is set.
func (w *resolver) target(base int, name string, follow bool) (full string, mode uint32, errno syscall.Errno) {
	at, errno := w.resolve(base, name)
	defer at.close()
	if errno != 0 {
		return lost(base, name, errno), 0, errno
	}
	for range maxSymlinks {
		if w.inOtherProcess(&at) {
			return "", 0, 0
		}
		var st unix.Stat_t
		err := unix.Fstatat(at.dir, at.name, &st, unix.AT_SYMLINK_NOFOLLOW)
		if err != nil || st.Mode&unix.S_IFMT != unix.S_IFLNK {
			full, errno = at.recorded()
			if errno == 0 && err != nil {
				errno = err.(syscall.Errno)
			}
			return onlyLost(full, errno), st.Mode, errno
		}
		if !follow && at.tail == "" {
			return "", 0, 0
		}
		fd, errno := w.advance(&at)
		switch {
		case fd >= 0: // a magic link
			return targetOfFD(fd)
		case errno != 0:
			return lost(at.dir, linkText(&at), errno), 0, errno
		}
	}
	return "", 0, 0
}

func targetOfFD(fd int) (full string, mode uint32, errno syscall.Errno) {
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return "", 0, 0
	}
	full, errno = pathOf(fd)
	if !path.IsAbs(full) { // a pipe or a socket
		return "", 0, 0
	}
	return strings.TrimSuffix(full, " (deleted)"), st.Mode, errno
}

func linkText(at *pathRef) string {
	var b [unix.PathMax]byte
	n, _ := unix.Readlinkat(at.dir, at.name, b[:])
	return string(b[:max(n, 0)])
}

// onlyLost returns full if an errno leaves open what is at the path, or is none.
func onlyLost(full string, errno syscall.Errno) string {
	if errno == 0 || errno == unix.ENOENT || errno == unix.EACCES {
		return full
	}
	return ""
}

// lost returns the path that a name would lead to, of which the jail does not have all
// directories: it follows links as far as there is something, and takes the rest as it is written.
func lost(base int, name string, errno syscall.Errno) string {
	if name == "" || onlyLost(name, errno) == "" {
		return ""
	}
	full := path.Clean(name)
	if !path.IsAbs(name) {
		dir, errno := pathOf(base)
		if base < 0 || errno != 0 {
			return ""
		}
		full = path.Join(dir, name)
	}
	for dir := path.Dir(full); ; dir = path.Dir(dir) {
		fd, err := unix.Openat2(unix.AT_FDCWD, dir, &unix.OpenHow{
			Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS,
		})
		if err == nil {
			real, errno := pathOf(fd)
			unix.Close(fd)
			if errno != 0 {
				return full
			}
			return path.Join(real, full[len(dir):])
		}
		// A link of a directory whose target the jail lacks: the target is what the server needs.
		var b [unix.PathMax]byte
		if n, err := unix.Readlink(dir, b[:]); err == nil && n > 0 {
			to := string(b[:n])
			if !path.IsAbs(to) {
				to = path.Join(path.Dir(dir), to)
			}
			return path.Join(to, full[len(dir):])
		}
		if dir == path.Dir(dir) {
			return full
		}
	}
}
