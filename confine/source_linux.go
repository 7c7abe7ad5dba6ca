package confine

import (
	"errors"
	"strings"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/policy"
)

// openSources clones every mount that the jail will see.
func (b *rootBuilder) openSources() error {
	b.trees = make([]int, len(b.order.Mounts))
	for i := range b.order.Mounts {
		op := &b.order.Mounts[i]
		if !op.cloned() {
			continue
		}
		attr := op.attributes()
		if op.kind == mountCopy { // of which this is what lies below
			attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
		}
		var err error
		if b.trees[i], op.id, err = cloneObject(op.path, op.id, attr); err != nil {
			return on(op.path, err)
		}
	}
	return nil
}

// attributes are those of the mount.
func (op *mountOp) attributes() unix.MountAttr {
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID}
	if !op.dev {
		attr.Attr_set |= unix.MOUNT_ATTR_NODEV
	}
	if op.ro {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	if op.noexec {
		attr.Attr_set |= unix.MOUNT_ATTR_NOEXEC
	}
	return attr
}

// cloneObject clones the mount of the object at a canonical path, with attributes. An object whose
// identity is known is checked by it: whatever way a name that was swapped leads
// to, it ends at another one. For the rest no symlink is followed.
func cloneObject(p string, id policy.FileID, attr unix.MountAttr) (tree int, found policy.FileID, err error) {
	if id == (policy.FileID{}) {
		fd, err := openObject(unix.AT_FDCWD, p)
		if err != nil {
			return -1, found, err
		}
		defer unix.Close(fd)
		if tree, err = openTree(fd, "", unix.AT_EMPTY_PATH, attr); err != nil {
			return -1, found, err
		}
		found, err = objectID(tree)
		return tree, found, err
	}
	if tree, err = openTree(unix.AT_FDCWD, p, unix.AT_SYMLINK_NOFOLLOW, attr); err != nil {
		return -1, found, err
	}
	if found, err = objectID(tree); err != nil || found != id {
		unix.Close(tree)
		return -1, found, errSwapped
	}
	return tree, found, nil
}

var errSwapped = errors.New("it was replaced by something else while the jail was being built")

// openObject opens the object at an absolute or relative canonical path; a
// symlink anywhere in it is an error (ELOOP).
func openObject(dir int, p string) (int, error) { return openBeneath(dir, p, 0) }

// openLast does the same, and opens a last symlink itself.
func openLast(dir int, p string) (int, error) { return openBeneath(dir, p, unix.O_NOFOLLOW) }

func openBeneath(dir int, p string, flags uint64) (int, error) {
	fd, err := unix.Openat2(dir, p, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC | flags,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		// A filter around this process, a container's or another jail's.
		return openByStep(dir, p, flags&unix.O_NOFOLLOW != 0)
	}
	return fd, err
}

// openByStep does what openBeneath does, one component at a time: each is opened
// without following it, and none but the last, with last set, may be a symlink.
func openByStep(dir int, p string, last bool) (int, error) {
	const flags = unix.O_PATH | unix.O_CLOEXEC | unix.O_NOFOLLOW
	start := "."
	if strings.HasPrefix(p, "/") {
		start = "/"
	}
	fd, err := unix.Openat(dir, start, flags, 0)
	parts := strings.FieldsFunc(p, func(r rune) bool { return r == '/' })
	for i, name := range parts {
		if err != nil {
			return -1, err
		}
		at := fd
		fd, err = unix.Openat(at, name, flags, 0)
		unix.Close(at)
		if err != nil {
			return -1, err
		}
		var st unix.Stat_t
		if err = unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK && !(last && i == len(parts)-1) {
			err = unix.ELOOP
		}
		if err != nil {
			unix.Close(fd)
		}
	}
	if err != nil {
		return -1, err
	}
	return fd, nil
}

// noTreeAttr: this kernel, or a filter around us, does not know open_tree_attr(2).
var noTreeAttr atomic.Bool

// openTree clones a mount, and gives the clone, and what is mounted below it,
// attributes: in one call from Linux 6.15 on, open_tree_attr(2).
func openTree(dir int, p string, flags uint, attr unix.MountAttr) (int, error) {
	flags |= unix.AT_RECURSIVE | unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC
	if !noTreeAttr.Load() {
		name, err := unix.BytePtrFromString(p)
		if err != nil {
			return -1, err
		}
		fd, _, errno := unix.Syscall6(unix.SYS_OPEN_TREE_ATTR, uintptr(dir), uintptr(unsafe.Pointer(name)), uintptr(flags), uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
		if errno == 0 {
			return int(fd), nil
		}
		if errno != unix.ENOSYS && errno != unix.EPERM {
			return -1, errno
		}
		noTreeAttr.Store(true)
	}
	tree, err := unix.OpenTree(dir, p, flags)
	if err != nil {
		return -1, err
	}
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		unix.Close(tree)
		return -1, err
	}
	return tree, nil
}

// newFs makes a filesystem that is attached nowhere yet. An option without a value
// is a flag.
func newFs(kind string, attr int, options ...string) (int, error) {
	fs, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fs)
	for _, o := range options {
		var err error
		if key, value, valued := strings.Cut(o, "="); valued {
			err = unix.FsconfigSetString(fs, key, value)
		} else {
			err = unix.FsconfigSetFlag(fs, key)
		}
		if err != nil {
			return -1, on(o, err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, err
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, attr)
}
