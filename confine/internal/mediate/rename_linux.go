package mediate

import (
	"os"
	"strconv"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

func (v *Mediator) link(r *Request, w *resolver, from, to *PathRef) syscall.Errno {
	flags := int(int32(r.arg(r.Flags)))
	if flags&^(unix.AT_SYMLINK_FOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return unix.EINVAL
	}
	source, errno := w.openSource(from, flags&unix.AT_SYMLINK_FOLLOW != 0)
	if errno != 0 {
		return errno
	}
	defer unix.Close(source)
	v.names.RLock()
	defer v.names.RUnlock()
	switch {
	case Exists(to):
		return unix.EEXIST
	case !sameMount(source, to.Dir):
		return unix.EXDEV
	}
	full, errno := v.judge(r, policy.OpCreate, to)
	if errno != 0 {
		return errno
	}
	if errno := v.keepsShut(r, source, full); errno != 0 {
		return errno
	}
	name := proc.FDFile(source)
	errno = step.ErrnoOrEIO(unix.Linkat(proc.DirFD, name, to.Dir, to.Name+to.tail, unix.AT_SYMLINK_FOLLOW))
	if errno == 0 {
		errno = v.undoIfMoved(r, policy.OpCreate, to, full)
	}
	return v.recordRefusalAt(r, policy.OpCreate, to, errno)
}

// openSource opens what a link is to be made to.
func (w *resolver) openSource(from *PathRef, follow bool) (int, syscall.Errno) {
	if follow {
		return w.object(from)
	}
	flags := unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC
	if from.tail != "" {
		flags |= unix.O_DIRECTORY
	}
	fd, err := unix.Openat(from.Dir, from.Name, flags, 0)
	return fd, step.ErrnoOrEIO(err)
}

func (v *Mediator) rename(r *Request, from, to *PathRef) syscall.Errno {
	flags := uint(r.arg(r.Flags))
	v.names.Lock()
	defer v.names.Unlock()
	if from.special() || to.special() {
		return step.ErrnoOrEIO(unix.Renameat2(from.Dir, from.Name, to.Dir, to.Name, flags))
	}
	src, errno := v.pathAt(from)
	if errno != 0 {
		return errno
	}
	dst, errno := v.pathAt(to)
	if errno != 0 {
		return errno
	}
	if !sameMount(from.Dir, to.Dir) {
		return unix.EXDEV // before anything else, as the kernel says it
	}
	if Exists(from) {
		if errno := v.verdict(r, "rename", dst, from, v.profile.MediateRename(src, dst, from.holds)); errno != 0 {
			return errno
		}
		if flags&unix.RENAME_EXCHANGE != 0 && Exists(to) {
			if errno := v.verdict(r, "rename", src, to, v.profile.MediateRename(dst, src, to.holds)); errno != 0 {
				return errno
			}
		}
	}
	if errno := v.keepsRights(from, to); errno != 0 {
		return errno
	}
	if flags&unix.RENAME_EXCHANGE != 0 {
		if errno := v.keepsRights(to, from); errno != 0 {
			return errno
		}
		if v.profile.EntersProtected(src, dst) || v.profile.EntersProtected(dst, src) {
			return unix.EXDEV // it could not be taken back: see keepBack
		}
	}
	errno = step.ErrnoOrEIO(unix.Renameat2(from.Dir, from.Name+from.tail, to.Dir, to.Name+to.tail, flags))
	if errno == 0 && flags&unix.RENAME_EXCHANGE == 0 {
		errno = v.undoRename(r, from, to, src)
	}
	return v.recordRefusalAt(r, policy.OpRemove, to, errno)
}

// undoRename moves back what another jail has put a protected name into, or the place
// of which it has moved, while it was being moved. Nothing else comes along: where the
// old name is taken by now, a new one is found beside it.
func (v *Mediator) undoRename(r *Request, from, to *PathRef, src string) syscall.Errno {
	dst, errno := v.pathAt(to)
	if errno == 0 && to.holds("") && !v.profile.EntersProtected(src, dst) {
		return 0
	}
	if errno == 0 && v.profile.MediateRename(src, dst, to.holds) == policy.Granted {
		return 0
	}
	name := from.Name
	for n := range 100 {
		if unix.Renameat2(to.Dir, to.Name, from.Dir, name, unix.RENAME_NOREPLACE) != unix.EEXIST {
			break
		}
		name = from.Name + "." + strconv.Itoa(n)
	}
	v.Reporter.Refused(r, "rename", dst)
	return unix.EACCES
}

// keepsRights refuses, as the edge of a mount would, to bring a file to where it
// has more rights. Landlock looks after that too, but knows nothing of what a
// narrower entry takes away.
func (v *Mediator) keepsRights(from, to *PathRef) syscall.Errno {
	if !v.unmasked || from.special() || to.special() {
		return 0
	}
	src, errno := v.pathAt(from)
	if errno != 0 {
		return errno
	}
	dst, errno := v.pathAt(to)
	if errno == 0 && v.profile.WidensRights(src, dst) {
		errno = unix.EXDEV
	}
	return errno
}

// keepsShut refuses, as the edge of a mount would, another name for a file that may
// not be written by the one that it has, or for one that has fewer rights there. A
// protected file that the host made or replaced since the start has no mount. It is the
// file that counts, wherever the name leads by now that it was found by.
func (v *Mediator) keepsShut(r *Request, source int, dst string) syscall.Errno {
	src, errno := v.pathOfFD(source)
	if errno != 0 {
		return errno
	}
	if v.profile.Mediate(policy.OpWrite, src) != policy.Granted && v.profile.Mediate(policy.OpWrite, dst) == policy.Granted {
		v.Reporter.Refused(r, policy.OpWrite.String(), src)
		return unix.EXDEV
	}
	if v.unmasked && v.profile.WidensRights(src, dst) {
		return unix.EXDEV
	}
	return 0
}

// sameMount tells whether two directories lie on the same mount.
func sameMount(a, b int) bool {
	var at, bt unix.Statx_t
	const mask = unix.STATX_MNT_ID
	if unix.Statx(a, "", unix.AT_EMPTY_PATH, mask, &at) != nil || unix.Statx(b, "", unix.AT_EMPTY_PATH, mask, &bt) != nil {
		return true // judge it
	}
	return at.Mask&bt.Mask&mask == 0 || at.Mnt_id == bt.Mnt_id
}

// holds answers what MediateRename asks about the object at a place.
func (p *PathRef) holds(name string) bool {
	switch name {
	case "":
		var st unix.Stat_t
		return unix.Fstatat(p.Dir, p.Name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
	case "**":
		left := maxScan
		return protectedBelow(p.Dir, p.Name, &left)
	}
	dir, err := unix.Openat(p.Dir, p.Name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(dir)
	var st unix.Stat_t
	return unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
}

// maxScan is how many names are looked at in a tree that is moved out of a place
// where protected names may be made. A larger tree counts as one that has them.
const maxScan = 20000

func protectedBelow(dir int, name string, left *int) bool {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err != unix.ENOTDIR && err != unix.ELOOP // not a directory: nothing is in it
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return true
	}
	for _, e := range entries {
		if *left--; *left < 0 || policy.ProtectedName(e.Name()) || e.IsDir() && protectedBelow(fd, e.Name(), left) {
			return true
		}
	}
	return false
}
