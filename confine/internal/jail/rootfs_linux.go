package jail

import (
	"os"
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	steppkg "github.com/mcp-jail/mcp-jail/confine/internal/sys"
)

// A rootBuilder builds the root filesystem of one jail. It starts with an empty tmpfs and attaches only
// what the spec lists: clones of granted files and directories, the jail's own /dev, /proc and temporary
// directories, overlays, and masks over hidden paths.
//
// It works on descriptors. openSources clones each source without following a symlink, and checks that the clone is
// of the object that the profile was resolved to, all before anything is attached. So no name is looked up twice. The
// order of its steps:
//
//	PrivateFS.Make   /dev, /dev/pts, /proc and the root, the same for every jail
//	openSources      clone the granted objects
//	mountOverlays    put an overlay in the place of a clone
//	build            attach all of it, and make it the root (pivot_root(2))
//	sealProc         set the sysctls of the namespaces, make /proc read-only
//
// Each step makes its system calls through a task of package stub, in the jail's mount namespace: at once,
// or recorded in a batch. A file that the host replaces by a rename loses its mask.
type rootBuilder struct {
	Task          *stub.Task // makes the system calls
	Spec          *spec.Spec
	trees         []int // clones of the sources, by index of Spec.Mounts; 0 for none
	PrivateFS     PrivateFS
	proc          int      // a fresh proc, or -1
	sys           int      // /proc/sys, the jail's or the host's; -1 for none
	root          int      // the new root, attached
	dirs          []string // directories that mkdirs has made in it
	masks         [2]int   // the first mask for a file and for a directory; 0 for none yet
	toSeal        []int    // mounts that seal makes read-only
	Notes         []string
	SignalPivoted func() error // called after pivot, when the old root is stacked on the new one
}

// build makes the jail's root and attaches all mounts in it. mountOverlays comes before it.
func (b *rootBuilder) build() error {
	for _, step := range []func() error{b.attachRoot, b.openProc, b.pivot, b.attachDev, b.attachProc, b.attachAll, b.links, b.files, b.seal} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// PrivateMounts stops the propagation of mounts between the task's namespace and the host's.
func PrivateMounts(t *stub.Task) error {
	return steppkg.On("/", stub.MountSetattr(t, unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Propagation: unix.MS_PRIVATE}))
}

func (b *rootBuilder) attachRoot() error {
	if b.root = b.PrivateFS.root; b.Spec.HostRoot() {
		b.root = b.trees[0] // the policy grants the host's root
		stub.Close(b.Task, b.PrivateFS.root)
	}
	return steppkg.On("/tmp", stub.MoveMount(b.Task, b.root, "", unix.AT_FDCWD, "/tmp", unix.MOVE_MOUNT_F_EMPTY_PATH))
}

// Modes of the jail's own directories. The server can pass through a shutDir, to the paths that
// are granted below it. It cannot list a shutDir, not even as its owner.
const openDir, shutDir = 0o755, 0o111

// dirMode returns the mode of the jail's own directory at a path: one that is for the user alone on the host stays
// so. Programs refuse a private directory that others may pass through: tmux, gpg, PostgreSQL.
func dirMode(p string, mode uint32) uint32 {
	if st, err := os.Lstat(p); err == nil && st.IsDir() && st.Mode().Perm()&0o077 == 0 {
		return mode & 0o700
	}
	return mode
}

func rel(p string) string {
	if p == "/" {
		return "."
	}
	return p[1:]
}

// attach attaches a mount to one of the jail's own directories. Only where the policy grants the host's root can other
// processes have made names on the way to it.
func (b *rootBuilder) attach(tree int, p string) error {
	if !b.Spec.HostRoot() {
		return steppkg.On(p, attachIn(b.Task, tree, b.root, rel(p)))
	}
	target, err := OpenObject(b.Task, b.root, rel(p))
	if err != nil {
		return steppkg.On(p, err)
	}
	defer stub.Close(b.Task, target)
	return steppkg.On(p, attachTo(b.Task, tree, target))
}

// attachIn attaches a mount to a name in one of the jail's own directories, in which no other
// process has made names.
func attachIn(t *stub.Task, tree, dir int, name string) error {
	return stub.MoveMount(t, tree, "", dir, name, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

func attachTo(t *stub.Task, tree, target int) error {
	return stub.MoveMount(t, tree, "", target, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// mkdirs makes a directory and its parents in the new root. It leaves existing names alone.
func (b *rootBuilder) mkdirs(p string, mode uint32) error {
	if p == "/" || p == "." || slices.Contains(b.dirs, p) {
		return nil
	}
	if err := b.mkdirs(path.Dir(p), mode); err != nil {
		return err
	}
	return b.mkdir(p, dirMode(p, mode))
}

func (b *rootBuilder) mkdir(p string, mode uint32) error {
	if err := stub.Mkdirat(b.Task, b.root, rel(p), mode); err != nil && err != unix.EEXIST {
		return steppkg.On(p, err)
	}
	b.dirs = append(b.dirs, p)
	return nil
}

// touch makes a file and its directories. It leaves an existing file alone.
func (b *rootBuilder) touch(p, content string, mode uint32) error {
	if err := b.mkdirs(path.Dir(p), mode); err != nil {
		return err
	}
	if err := b.create(p, content); err != unix.EEXIST {
		return steppkg.On(p, err)
	}
	return nil
}

// create makes a file. Its error is EEXIST if the name exists.
func (b *rootBuilder) create(p, content string) error {
	if content == "" { // most are mount points
		if err := stub.Mknodat(b.Task, b.root, rel(p), unix.S_IFREG|0o644, 0); err != unix.EPERM {
			return err
		} // EPERM: a seccomp filter refuses mknod
	}
	fd, err := stub.Openat(b.Task, b.root, rel(p), unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return err
	}
	defer stub.Close(b.Task, fd)
	return writeAll(b.Task, fd, content)
}

func (b *rootBuilder) attachDev() error {
	if err := b.mkdir("/dev", openDir); err != nil {
		return err
	}
	if err := b.attach(b.PrivateFS.dev, "/dev"); err != nil {
		return err
	}
	b.toSeal = append(b.toSeal, b.PrivateFS.dev)
	for _, name := range b.Spec.Devices {
		node, ok := b.PrivateFS.Devices[name]
		if !ok {
			return steppkg.On(name, unix.ENOENT)
		}
		if err := steppkg.On(name, attachIn(b.Task, node, b.PrivateFS.dev, path.Base(name))); err != nil {
			return err
		}
	}
	return steppkg.On("/dev/pts", attachIn(b.Task, b.PrivateFS.pts, b.PrivateFS.dev, "pts"))
}

// pivot makes the new root, which is still empty, the root. The old root is then stacked on
// the new one, reachable by the working directory and by no path. Another task detaches it
// while this one attaches mounts, because the kernel takes long for that: see
// jail.rootBuilder.detachOldRoot.
func (b *rootBuilder) pivot() error {
	if err := steppkg.On("/", stub.Fchdir(b.Task, b.root)); err != nil {
		return err
	}
	if err := steppkg.On("pivot_root", stub.PivotRoot(b.Task, ".", ".")); err != nil {
		return err
	}
	return b.SignalPivoted()
}

// seal makes the jail's own directories read-only and closes their descriptors, because the
// server's limit of open files may be lower than their number.
func (b *rootBuilder) seal() error {
	for _, name := range []string{maskDir, maskFile} {
		flags := 0
		if name == maskDir {
			flags = unix.AT_REMOVEDIR
		}
		if err := steppkg.On("mask", stub.Unlinkat(b.Task, b.PrivateFS.dev, name, flags)); err != nil {
			return err
		}
	}
	readOnly := b.toSeal
	if !b.Spec.HostRoot() {
		readOnly = append(readOnly, b.root)
	}
	for _, fd := range readOnly {
		if err := steppkg.On("read-only", stub.MountSetattr(b.Task, fd, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})); err != nil {
			return err
		}
		stub.Close(b.Task, fd)
	}
	return nil
}
