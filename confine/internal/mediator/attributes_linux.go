package mediator

import (
	"encoding/binary"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy"
)

// onDescriptor reports whether a call names no path: fchmod, fchown, futimens. The C library
// makes futimens from utimensat with a null name. With AT_FDCWD that is an error.
func (r *request) onDescriptor() bool {
	byNull := r.Call == "utimensat" && r.arg(r.Path) == 0 && int32(r.arg(r.Dir)) != unix.AT_FDCWD
	return r.changesAttributes() && (byNull || r.Path == seccomp.NoArg)
}

func (r *request) emptyPath() bool {
	return r.changesAttributes() && r.Flags != seccomp.NoArg && r.arg(r.Flags)&unix.AT_EMPTY_PATH != 0
}

func (r *request) changesAttributes() bool {
	return r.Op == seccomp.OpMode || r.Op == seccomp.OpOwner || r.Op == seccomp.OpTimes
}

func (r *request) noFollow() bool {
	return r.Call == "lchown" || r.Flags != seccomp.NoArg && r.arg(r.Flags)&unix.AT_SYMLINK_NOFOLLOW != 0
}

// attributes changes the mode, owner or times of an object. It decides by the object's path
// and changes the object through its own descriptor. Without mounts, and where a mount can
// be bypassed, no other mechanism restricts these calls.
func (m *Mediator) attributes(r *request, w *resolver) syscall.Errno {
	known := uint32(unix.AT_SYMLINK_NOFOLLOW | unix.AT_EMPTY_PATH)
	if r.onDescriptor() {
		known = 0
	}
	if r.Flags != seccomp.NoArg && uint32(r.arg(r.Flags))&^known != 0 {
		return unix.EINVAL
	}
	object := r.bases[0]
	if r.names[0] != "" {
		at, errno := w.resolve(r.bases[0], r.names[0])
		defer at.close()
		if errno != 0 {
			return m.judge.recordMissing(r, 0, errno)
		}
		if object, errno = w.openObject(&at, !r.noFollow() || at.tail != ""); errno != 0 {
			return errno
		}
		defer unix.Close(object)
	}
	m.names.RLock()
	defer m.names.RUnlock()
	var st unix.Stat_t
	if err := unix.Fstat(object, &st); err != nil {
		return sys.ErrnoOrEIO(err)
	}
	full, errno := pathOf(object)
	if errno != 0 {
		return errno
	}
	// Where mounts hold the rules, the filter hands the calls over for m.Journal, and for other spellings of
	// protected names.
	granted := !m.judge.profile.Protects(policy.OpWrite, full+"/.")
	if m.judge.hostNS {
		granted = m.judge.profile.Mediate(policy.OpAttributes, full) == policy.Granted && !device(&st)
	}
	if !granted && !isUnnamed(full, &st) {
		m.judge.reporter.Refused(&r.n, policy.OpWrite.String(), full)
		return unix.EACCES
	}
	if errno := m.Journal.Object(object, full); errno != 0 {
		return errno
	}
	return r.changeAttributes(object, st.Mode&unix.S_IFMT == unix.S_IFLNK)
}

func device(st *unix.Stat_t) bool {
	kind := st.Mode & unix.S_IFMT
	return kind == unix.S_IFCHR || kind == unix.S_IFBLK
}

func isUnnamed(full string, st *unix.Stat_t) bool {
	if strings.HasPrefix(full, "pipe:") || strings.HasPrefix(full, "socket:") || strings.HasPrefix(full, "anon_inode:") {
		return true
	}
	return st.Nlink == 0 && strings.HasSuffix(full, " (deleted)")
}

func (r *request) changeAttributes(object int, link bool) syscall.Errno {
	name := sys.FDFile(object)
	switch r.Op {
	case seccomp.OpMode:
		if link {
			return unix.EOPNOTSUPP
		}
		return sys.ErrnoOrEIO(unix.Fchmodat(sys.DirFD, name, uint32(r.arg(r.Mode))&0o7777, 0))
	case seccomp.OpOwner:
		return sys.ErrnoOrEIO(unix.Fchownat(object, "", int(int32(r.arg(r.Mode))), int(int32(r.arg(r.Mode+1))), unix.AT_EMPTY_PATH))
	case seccomp.OpTimes:
		if link {
			return sys.ErrnoOrEIO(unix.UtimesNanoAt(object, "", r.times, unix.AT_EMPTY_PATH))
		}
		return sys.ErrnoOrEIO(unix.UtimesNanoAt(sys.DirFD, name, r.times, 0))
	}
	return unix.ENOSYS
}

// readTimes reads the times that a call sets, in the form that the call uses. A null pointer
// stands for the current time.
func readTimes(tid int, call string, addr uint64) ([]unix.Timespec, syscall.Errno) {
	now := []unix.Timespec{{Nsec: unix.UTIME_NOW}, {Nsec: unix.UTIME_NOW}}
	if addr == 0 {
		return now, 0
	}
	size := 32 // two pairs of seconds and a fraction
	if call == "utime" {
		size = 16 // two numbers of seconds
	}
	b := make([]byte, size)
	if n, errno := sys.ReadMemory(tid, addr, b); errno != 0 || n != size {
		return nil, unix.EFAULT
	}
	word := func(i int) int64 { return int64(binary.LittleEndian.Uint64(b[8*i:])) }
	switch call {
	case "utime":
		return []unix.Timespec{{Sec: word(0)}, {Sec: word(1)}}, 0
	case "utimes", "futimesat":
		if word(1) < 0 || word(1) >= 1e6 || word(3) < 0 || word(3) >= 1e6 {
			return nil, unix.EINVAL
		}
		return []unix.Timespec{{Sec: word(0), Nsec: word(1) * 1000}, {Sec: word(2), Nsec: word(3) * 1000}}, 0
	}
	return []unix.Timespec{{Sec: word(0), Nsec: word(1)}, {Sec: word(2), Nsec: word(3)}}, 0
}
