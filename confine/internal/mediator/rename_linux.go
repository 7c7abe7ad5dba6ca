package mediator

import (
	"io"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy"
)

// rename performs rename(2) and its variants. It holds m.names for writing.
func (m *Mediator) rename(r *request, from, to *pathRef) syscall.Errno {
	flags := uint(r.arg(r.Flags))
	m.names.Lock()
	defer m.names.Unlock()
	if from.special() || to.special() {
		return sys.ErrnoOrEIO(unix.Renameat2(from.dir, from.name, to.dir, to.name, flags))
	}
	src, errno := from.full()
	if errno != 0 {
		return errno
	}
	dst, errno := to.full()
	if errno != 0 {
		return errno
	}
	if !sameMount(from.dir, to.dir) || m.Journal.Keeps(src) != m.Journal.Keeps(dst) {
		return unix.EXDEV // before any other error, as in the kernel
	}
	exchange := flags&unix.RENAME_EXCHANGE != 0
	if errno := m.judge.mayRename(r, from, src, dst); errno != 0 {
		return errno
	}
	if exchange {
		if errno := m.judge.mayRename(r, to, dst, src); errno != 0 {
			return errno
		}
		if m.judge.profile.EntersProtected(src, dst) || m.judge.profile.EntersProtected(dst, src) {
			return unix.EXDEV // undoRename cannot undo an exchange
		}
	}
	if errno := m.Journal.Rename(from.withPath(src), to.withPath(dst), flags); errno != 0 {
		return errno
	}
	errno = sys.ErrnoOrEIO(unix.Renameat2(from.dir, from.name+from.tail, to.dir, to.name+to.tail, flags))
	if errno == 0 && !exchange {
		errno = m.undoRename(r, from, to, src)
	}
	needs := policy.OpCreate
	if exists(to) { // it is replaced
		needs = policy.OpRemove
	}
	return m.judge.recordRefusalAt(r, needs, to, errno)
}

// mayRename decides whether the object at a reference may get the path dst.
func (j *judge) mayRename(r *request, from *pathRef, src, dst string) syscall.Errno {
	if !exists(from) {
		return 0
	}
	return j.verdict(r, "rename", dst, from, j.profile.MediateRename(src, dst, from.holder(j.profile), !j.hostNS))
}

// undoRename moves an object back when another jail, during the rename, put a protected name
// into it or moved its new parent directory to a path that forbids it. If the old name is in
// use again, the object gets a new name beside it.
func (m *Mediator) undoRename(r *request, from, to *pathRef, src string) syscall.Errno {
	dst, errno := to.full()
	if errno == 0 && to.holder(m.judge.profile)("") && !m.judge.profile.EntersProtected(src, dst) {
		return 0
	}
	if errno == 0 && m.judge.profile.MediateRename(src, dst, to.holder(m.judge.profile), !m.judge.hostNS) == policy.Granted {
		return 0
	}
	name := from.name
	for n := range 100 {
		if unix.Renameat2(to.dir, to.name, from.dir, name, unix.RENAME_NOREPLACE) != unix.EEXIST {
			break
		}
		name = from.name + "." + strconv.Itoa(n)
	}
	m.judge.reporter.Refused(&r.n, "rename", dst)
	return unix.EACCES
}

func sameMount(a, b int) bool {
	var at, bt unix.Statx_t
	const mask = unix.STATX_MNT_ID
	if unix.Statx(a, "", unix.AT_EMPTY_PATH, mask, &at) != nil || unix.Statx(b, "", unix.AT_EMPTY_PATH, mask, &bt) != nil {
		return true // let the policy decide
	}
	return at.Mask&bt.Mask&mask == 0 || at.Mnt_id == bt.Mnt_id
}

// holder returns holds with the protected names of a profile.
func (p *pathRef) holder(profile *policy.Profile) func(name string) bool {
	return func(name string) bool { return p.holds(profile, name) }
}

// holds answers the questions of policy.Profile.MediateRename about the object at p: whether
// it is a directory (""), whether it is a symbolic link ("@"), whether a protected name is
// below it ("**"), else whether it contains name.
func (p *pathRef) holds(profile *policy.Profile, name string) bool {
	switch name {
	case "":
		var st unix.Stat_t
		return unix.Fstatat(p.dir, p.name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
	case "@":
		return isLink(p)
	case "**":
		left := maxScan
		return protectedBelow(profile, p.dir, p.name, &left)
	}
	dir, err := unix.Openat(p.dir, p.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(dir)
	var st unix.Stat_t
	return unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
}

// maxScan bounds the scan for protected names in a tree that is moved. A larger tree counts as
// one that contains a protected name.
const maxScan = 20000

// readAtOnce bounds the names of one directory that are in memory at once.
const readAtOnce = 256

// protectedBelow reports whether a protected name is below name in dir. left is the number of
// names that may still be scanned.
func protectedBelow(profile *policy.Profile, dir int, name string, left *int) bool {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err != unix.ENOTDIR && err != unix.ELOOP // a file contains no name, nor does a symlink
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	for {
		entries, err := f.ReadDir(readAtOnce)
		for _, e := range entries {
			if *left--; *left < 0 || profile.ProtectedName(e.Name()) || e.IsDir() && protectedBelow(profile, fd, e.Name(), left) {
				return true
			}
		}
		if err != nil {
			return err != io.EOF
		}
	}
}
