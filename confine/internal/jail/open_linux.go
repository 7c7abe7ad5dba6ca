package jail

import (
	"errors"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy"
)

// openSources clones the source of every mount of the spec, by its name in its directory. Those in one directory, as
// in /etc, follow each other.
func (b *rootBuilder) openSources() error {
	b.trees = make([]int, len(b.Spec.Mounts))
	dir, opened := -1, ""
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
		if in := path.Dir(m.Path); in != opened {
			if dir >= 0 {
				stub.Close(b.Task, dir)
			}
			if dir, err = OpenObject(b.Task, unix.AT_FDCWD, in); err != nil {
				return sys.On(m.Path, err)
			}
			opened = in
		}
		if b.trees[i], err = cloneObject(b.Task, dir, path.Base(m.Path), &m.ID, attr); err != nil {
			return sys.On(m.Path, err)
		}
	}
	if dir >= 0 {
		stub.Close(b.Task, dir)
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

// cloneObject clones the mount of the object with a name in an open directory, with attributes. It
// follows no symlink. If id is known, the object must have it, else the error is ErrSwapped:
// another process may have changed the path since the profile was resolved. If id is zero,
// it becomes the identity of the object.
func cloneObject(t *stub.Task, dir int, name string, id *policy.FileID, attr unix.MountAttr) (tree int, err error) {
	if *id == (policy.FileID{}) {
		fd, err := OpenObject(t, dir, name)
		if err != nil {
			return -1, err
		}
		defer stub.Close(t, fd)
		if tree, err = openTree(t, fd, "", unix.AT_EMPTY_PATH, attr); err != nil {
			return -1, err
		}
		return tree, Identify(t, tree, func(found policy.FileID) error { *id = found; return nil })
	}
	// A symlink in its place has another identity.
	if tree, err = openTree(t, dir, name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, attr); err != nil {
		return -1, err
	}
	if Identify(t, tree, sameFile(*id)) != nil {
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

// sameFile returns a function for Identify that fails with ErrSwapped for every other object.
func sameFile(want policy.FileID) func(policy.FileID) error {
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
			return -1, sys.On(o, err)
		}
	}
	if err := stub.FsconfigCreate(t, fs); err != nil {
		return -1, err
	}
	return stub.Fsmount(t, fs, unix.FSMOUNT_CLOEXEC, attr)
}

// PrivateFS has the filesystems that are the same in every jail: /dev, /dev/pts, /proc and
// the root. Make makes them, attached nowhere, before the spec is known.
type PrivateFS struct {
	Task    *stub.Task
	root    int            // a tmpfs, for the root
	dev     int            // a tmpfs with the names of /dev, before the mounts on them
	pts     int            // a devpts
	Devices map[string]int // clones of the host's nodes, by path
	proc    int            // -1 if procErr is set
	procErr error
}

// maxTerminals bounds the terminals of one jail. All jails and containers of a host share
// 3072 (kernel.pty.max less kernel.pty.reserve).
const maxTerminals = 128

// Make makes the filesystems.
func (f *PrivateFS) Make() (err error) {
	// The kernel allows a fresh proc only if the namespace sees all of an old one.
	// Whether a refusal matters depends on the spec: see openProc.
	f.proc, f.procErr = NewFS(f.Task, "proc", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
	if f.pts, err = NewFS(f.Task, "devpts", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC, "ptmxmode=0666", "mode=0620", "max="+strconv.Itoa(maxTerminals)); err != nil {
		return sys.On("devpts", err)
	}
	if f.dev, err = NewFS(f.Task, "tmpfs", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC, "mode=0755", "size=1m"); err != nil {
		return sys.On("/dev", err)
	}
	if f.root, err = NewFS(f.Task, "tmpfs", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV, "mode=0755", "size=8m"); err != nil {
		return sys.On("tmpfs", err)
	}
	if err := f.fillDev(); err != nil {
		return err
	}
	f.Devices = make(map[string]int, len(spec.DeviceNodes))
	host, err := OpenObject(f.Task, unix.AT_FDCWD, "/dev")
	if err != nil {
		return sys.On("/dev", err)
	}
	defer stub.Close(f.Task, host)
	for _, name := range spec.DeviceNodes {
		node := path.Join("/dev", name)
		// A device on a read-only mount can be written to. The mount protects the mode,
		// the owner and the times of the host's node. The clone is private because this step
		// may run before PrivateMounts, and later mounts of the host must not appear here.
		tree, err := openTree(f.Task, host, name, unix.AT_SYMLINK_NOFOLLOW, unix.MountAttr{
			Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC, Propagation: unix.MS_PRIVATE,
		})
		if err == unix.ENOENT {
			continue
		}
		if err != nil {
			return sys.On(node, err)
		}
		f.Devices[node] = tree
		if err := f.touch(name, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (f *PrivateFS) fillDev() error {
	for name, target := range map[string]string{
		"ptmx": "pts/ptmx", "fd": "/proc/self/fd",
		"stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
	} {
		if err := sys.On("/dev/"+name, stub.Symlinkat(f.Task, target, f.dev, name)); err != nil {
			return err
		}
	}
	for name, mode := range map[string]uint32{"pts": openDir, "shm": openDir, maskDir: 0} {
		if err := sys.On("/dev/"+name, stub.Mkdirat(f.Task, f.dev, name, mode)); err != nil {
			return err
		}
	}
	return f.touch(maskFile, 0)
}

func (f *PrivateFS) touch(name string, mode uint32) error {
	err := stub.Mknodat(f.Task, f.dev, name, unix.S_IFREG|mode, 0)
	if errors.Is(err, unix.EPERM) { // a seccomp filter refuses mknod
		var fd int
		if fd, err = stub.Openat(f.Task, f.dev, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, mode); err == nil {
			stub.Close(f.Task, fd)
		}
	}
	return sys.On("/dev/"+name, err)
}
