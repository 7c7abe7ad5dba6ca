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

// openSources clones every mount that the jail will see.
func (b *Builder) OpenSources() error {
	b.trees = make([]int, len(b.Spec.Mounts))
	for i := range b.Spec.Mounts {
		op := &b.Spec.Mounts[i]
		if !op.Cloned() {
			continue
		}
		attr := attributesOf(op)
		if op.Kind == spec.MountOverlay { // of which this is what lies below
			attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
		}
		var err error
		if b.trees[i], err = cloneObject(b.T, op.Path, &op.ID, attr); err != nil {
			return step.On(op.Path, err)
		}
	}
	return nil
}

// attributes are those of the mount.
func attributesOf(op *spec.Mount) unix.MountAttr {
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID}
	if !op.Dev {
		attr.Attr_set |= unix.MOUNT_ATTR_NODEV
	}
	if op.ReadOnly {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	if op.NoExec {
		attr.Attr_set |= unix.MOUNT_ATTR_NOEXEC
	}
	return attr
}

// cloneObject clones the mount of the object at a canonical path, with attributes. No
// symlink is followed on the way, and an object whose identity is known has to be that one:
// a lookup may have been led elsewhere by a link that was there for a moment, and found
// the identity of what is there. For the rest id becomes what was found.
func cloneObject(t *stub.Task, p string, id *policy.FileID, attr unix.MountAttr) (tree int, err error) {
	fd, err := OpenObject(t, unix.AT_FDCWD, p)
	if err != nil {
		return -1, err
	}
	defer t.Close(fd)
	if tree, err = openTree(t, fd, "", unix.AT_EMPTY_PATH, attr); err != nil {
		return -1, err
	}
	if *id == (policy.FileID{}) {
		return tree, Identify(t, tree, func(found policy.FileID) error { *id = found; return nil })
	}
	if Identify(t, tree, SameFile(*id)) != nil {
		t.Close(tree)
		return -1, ErrSwapped
	}
	return tree, nil
}

// sameAs looks whether an object is the one that was resolved.
func SameFile(want policy.FileID) func(policy.FileID) error {
	return func(found policy.FileID) error {
		if found != want {
			return ErrSwapped
		}
		return nil
	}
}

var ErrSwapped = errors.New("it was replaced by something else while the jail was being built")

// openObject opens the object at an absolute or relative canonical path; a
// symlink anywhere in it is an error (ELOOP).
func OpenObject(t *stub.Task, dir int, p string) (int, error) { return OpenBeneath(t, dir, p, 0) }

// openLast does the same, and opens a last symlink itself.
func OpenLast(t *stub.Task, dir int, p string) (int, error) {
	return OpenBeneath(t, dir, p, unix.O_NOFOLLOW)
}

func OpenBeneath(t *stub.Task, dir int, p string, flags uint64) (int, error) {
	fd, err := t.Openat2(dir, p, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC | flags,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		// A filter around this process, a container's or another jail's.
		return OpenByStep(t, dir, p, flags&unix.O_NOFOLLOW != 0)
	}
	return fd, err
}

// openByStep does what openBeneath does, one component at a time: each is opened
// without following it, and none but the last, with last set, may be a symlink.
func OpenByStep(t *stub.Task, dir int, p string, last bool) (int, error) {
	const flags = unix.O_PATH | unix.O_CLOEXEC | unix.O_NOFOLLOW
	start := "."
	if strings.HasPrefix(p, "/") {
		start = "/"
	}
	fd, err := t.Openat(dir, start, flags, 0)
	parts := strings.FieldsFunc(p, func(r rune) bool { return r == '/' })
	for i, name := range parts {
		if err != nil {
			return -1, err
		}
		at := fd
		fd, err = t.Openat(at, name, flags, 0)
		t.Close(at)
		if err != nil {
			return -1, err
		}
		var st unix.Stat_t
		if err = t.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK && !(last && i == len(parts)-1) {
			err = unix.ELOOP
		}
		if err != nil {
			t.Close(fd)
		}
	}
	if err != nil {
		return -1, err
	}
	return fd, nil
}

// noTreeAttr: this kernel, or a filter around us, does not know open_tree_attr(2).
var noTreeAttr atomic.Bool

// askTreeAttr finds that out before it is relied on.
var askTreeAttr = sync.OnceFunc(func() {
	_, _, errno := unix.Syscall6(unix.SYS_OPEN_TREE_ATTR, ^uintptr(0), 0, 0, 0, 0, 0)
	if errno == unix.ENOSYS || errno == unix.EPERM {
		noTreeAttr.Store(true)
	}
})

// openTree clones a mount, and gives the clone, and what is mounted below it,
// attributes: in one call from Linux 6.15 on, open_tree_attr(2).
func openTree(t *stub.Task, dir int, p string, flags uint, attr unix.MountAttr) (int, error) {
	flags |= unix.AT_RECURSIVE | unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC
	askTreeAttr()
	if !noTreeAttr.Load() {
		fd, err := t.OpenTreeAttr(dir, p, flags, &attr)
		if err == nil || err != unix.ENOSYS && err != unix.EPERM {
			return fd, err
		}
		noTreeAttr.Store(true)
	}
	tree, err := t.OpenTree(dir, p, flags)
	if err != nil {
		return -1, err
	}
	if err := t.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		t.Close(tree)
		return -1, err
	}
	return tree, nil
}

// newFs makes a filesystem that is attached nowhere yet. An option without a value
// is a flag.
func NewFS(t *stub.Task, kind string, attr int, options ...string) (int, error) {
	fs, err := t.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer t.Close(fs)
	for _, o := range options {
		var err error
		if key, value, valued := strings.Cut(o, "="); valued {
			err = t.FsconfigSetString(fs, key, value)
		} else {
			err = t.FsconfigSetFlag(fs, key)
		}
		if err != nil {
			return -1, step.On(o, err)
		}
	}
	if err := t.FsconfigCreate(fs); err != nil {
		return -1, err
	}
	return t.Fsmount(fs, unix.FSMOUNT_CLOEXEC, attr)
}
