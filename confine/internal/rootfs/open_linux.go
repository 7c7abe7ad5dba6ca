package rootfs

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// OpenSources clones the source of every mount of the spec.
func (b *Builder) OpenSources() error {
	b.trees = make([]int, len(b.Spec.Mounts))
	for i := range b.Spec.Mounts {
		m := &b.Spec.Mounts[i]
		if !m.Cloned() {
			continue
		}
		attr := attributesOf(m)
		if m.Kind == spec.MountOverlay { // the clone is what is copied
			attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
		}
		var err error
		if b.trees[i], err = cloneObject(b.Task, m.Path, &m.ID, attr); err != nil {
			return step.On(m.Path, err)
		}
	}
	return nil
}

func attributesOf(m *spec.Mount) unix.MountAttr {
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID}
	if !m.Dev {
		attr.Attr_set |= unix.MOUNT_ATTR_NODEV
	}
	if m.ReadOnly {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	if m.NoExec {
		attr.Attr_set |= unix.MOUNT_ATTR_NOEXEC
	}
	return attr
}

// cloneObject clones the mount of the object at a canonical path, with attributes. It
// follows no symlink. If id is known, the object must have it, else the error is ErrSwapped:
// another process may have changed the path since the profile was resolved. If id is zero,
// it becomes the identity of the object.
func cloneObject(t *stub.Task, p string, id *policy.FileID, attr unix.MountAttr) (tree int, err error) {
	fd, err := OpenObject(t, unix.AT_FDCWD, p)
	if err != nil {
		return -1, err
	}
	defer stub.Close(t, fd)
	if tree, err = openTree(t, fd, "", unix.AT_EMPTY_PATH, attr); err != nil {
		return -1, err
	}
	if *id == (policy.FileID{}) {
		return tree, Identify(t, tree, func(found policy.FileID) error { *id = found; return nil })
	}
	if Identify(t, tree, SameFile(*id)) != nil {
		stub.Close(t, tree)
		return -1, ErrSwapped
	}
	return tree, nil
}

// Identify calls look with the identity of the object that a descriptor refers to, in the terms of
// policy.FileID (statx(2)). An error of look is the error of Identify or of the batch.
func Identify(t *stub.Task, fd int, look func(policy.FileID) error) error {
	st := new(unix.Statx_t)
	if err := stub.Statx(t, fd, "", unix.AT_EMPTY_PATH|unix.AT_SYMLINK_NOFOLLOW, unix.STATX_INO|unix.STATX_BTIME, st); err != nil {
		return err
	}
	return t.OnComplete(func() error {
		id := policy.FileID{Dev: unix.Mkdev(st.Dev_major, st.Dev_minor), Ino: st.Ino}
		if st.Mask&unix.STATX_BTIME != 0 {
			id.Birth = st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
		}
		return look(id)
	})
}

// SameFile returns a function for Identify that fails with ErrSwapped for every other object.
func SameFile(want policy.FileID) func(policy.FileID) error {
	return func(found policy.FileID) error {
		if found != want {
			return ErrSwapped
		}
		return nil
	}
}

// ErrSwapped reports that a path no longer leads to the object that was resolved.
var ErrSwapped = errors.New("it was replaced by something else while the jail was being built")

// OpenObject opens the object at a canonical path, absolute or relative to dir. A symlink
// anywhere in the path is an error (ELOOP).
func OpenObject(t *stub.Task, dir int, p string) (int, error) { return openBeneath(t, dir, p, 0) }

// OpenLast is OpenObject, but opens a symlink that is the last component of the path.
func OpenLast(t *stub.Task, dir int, p string) (int, error) {
	return openBeneath(t, dir, p, unix.O_NOFOLLOW)
}

func openBeneath(t *stub.Task, dir int, p string, flags uint64) (int, error) {
	fd, err := stub.Openat2(t, dir, p, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC | flags,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		// A seccomp filter around this process, a container's or an outer jail's.
		return openByStep(t, dir, p, flags&unix.O_NOFOLLOW != 0)
	}
	return fd, err
}

// openByStep does what openBeneath does without openat2(2): it opens one component at a time
// and follows none. A symlink is an error (ELOOP), except as the last component if last is set.
func openByStep(t *stub.Task, dir int, p string, last bool) (int, error) {
	const flags = unix.O_PATH | unix.O_CLOEXEC | unix.O_NOFOLLOW
	start := "."
	if strings.HasPrefix(p, "/") {
		start = "/"
	}
	fd, err := stub.Openat(t, dir, start, flags, 0)
	parts := strings.FieldsFunc(p, func(r rune) bool { return r == '/' })
	for i, name := range parts {
		if err != nil {
			return -1, err
		}
		at := fd
		fd, err = stub.Openat(t, at, name, flags, 0)
		stub.Close(t, at)
		if err != nil {
			return -1, err
		}
		var st unix.Stat_t
		// O_NOFOLLOW with O_PATH opens a symlink itself, so its type must be asked for.
		if err = stub.Fstat(t, fd, &st); err == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK && !(last && i == len(parts)-1) {
			err = unix.ELOOP
		}
		if err != nil {
			stub.Close(t, fd)
		}
	}
	if err != nil {
		return -1, err
	}
	return fd, nil
}

// noTreeAttr is set if the kernel lacks open_tree_attr(2) or a seccomp filter refuses it.
var noTreeAttr atomic.Bool

// askTreeAttr sets noTreeAttr once, before the first batch relies on the call.
var askTreeAttr = sync.OnceFunc(func() {
	_, _, errno := unix.Syscall6(unix.SYS_OPEN_TREE_ATTR, ^uintptr(0), 0, 0, 0, 0, 0)
	if errno == unix.ENOSYS || errno == unix.EPERM {
		noTreeAttr.Store(true)
	}
})

// openTree clones a mount with the mounts below it, and gives all clones attributes. From
// Linux 6.15 on this is one call, open_tree_attr(2).
func openTree(t *stub.Task, dir int, p string, flags uint, attr unix.MountAttr) (int, error) {
	flags |= unix.AT_RECURSIVE | unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC
	askTreeAttr()
	if !noTreeAttr.Load() {
		fd, err := stub.OpenTreeAttr(t, dir, p, flags, &attr)
		if err == nil || err != unix.ENOSYS && err != unix.EPERM {
			return fd, err
		}
		noTreeAttr.Store(true)
	}
	tree, err := stub.OpenTree(t, dir, p, flags)
	if err != nil {
		return -1, err
	}
	if err := stub.MountSetattr(t, tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		stub.Close(t, tree)
		return -1, err
	}
	return tree, nil
}

// NewFS makes a filesystem that is attached nowhere. An option without "=" is a flag.
func NewFS(t *stub.Task, kind string, attr int, options ...string) (int, error) {
	fs, err := stub.Fsopen(t, kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer stub.Close(t, fs)
	for _, o := range options {
		var err error
		if key, value, valued := strings.Cut(o, "="); valued {
			err = stub.FsconfigSetString(t, fs, key, value)
		} else {
			err = stub.FsconfigSetFlag(t, fs, key)
		}
		if err != nil {
			return -1, step.On(o, err)
		}
	}
	if err := stub.FsconfigCreate(t, fs); err != nil {
		return -1, err
	}
	return stub.Fsmount(t, fs, unix.FSMOUNT_CLOEXEC, attr)
}
