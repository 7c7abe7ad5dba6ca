package rootfs

import (
	"errors"
	"path"
	"slices"
	"strconv"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	steppkg "github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// rootBuilder makes the jail's root out of nothing: a tmpfs, and onto it only
// what the order lists. It works on descriptors throughout: a source is opened
// without following a single symlink, checked to be the object that was
// resolved, and cloned before anything is attached, so that no name is looked
// up twice.
type Builder struct {
	T             *stub.Task // who does it
	Spec          *spec.Spec
	trees         []int // clones of the bind sources, by index of order.Mounts; 0 for none
	PrivateFS     PrivateFS
	proc          int      // a fresh proc, or -1
	sys           int      // its sys, or the host's; -1 for none
	root          int      // the new root, attached
	dirs          []string // in it, that are there
	masks         [2]int   // of a file, of a directory, attached somewhere; 0 for none yet
	toSeal        []int    // masks that become read-only at the end
	Notes         []string
	SignalPivoted func() error // is called when there is a new root, and the old one lies on top of it
}

// build is what comes when every source is open.
func (b *Builder) Build() error {
	for _, step := range []func() error{b.attachRoot, b.openProc, b.pivot, b.attachDev, b.attachProc, b.attachAll, b.links, b.files, b.seal} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// privateMounts cuts the mounts of the shim's namespace off from the host's.
func PrivateMounts(t *stub.Task) error {
	return steppkg.On("/", t.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Propagation: unix.MS_PRIVATE}))
}

// attachRoot puts the new root over /tmp of the namespace, from where pivot_root
// takes it. Every source was opened before.
func (b *Builder) attachRoot() error {
	if b.root = b.PrivateFS.root; b.Spec.HostRoot() {
		b.root = b.trees[0] // the user grants the host's root
		b.T.Close(b.PrivateFS.root)
	}
	return steppkg.On("/tmp", b.T.MoveMount(b.root, "", unix.AT_FDCWD, "/tmp", unix.MOVE_MOUNT_F_EMPTY_PATH))
}

// Modes of the jail's own directories. A shut one can be passed through to what
// is granted below it, and not be listed, not even by its owner.
const openDir, shutDir = 0o755, 0o111

// rel turns an absolute path into one below the new root.
func rel(p string) string {
	if p == "/" {
		return "."
	}
	return p[1:]
}

func (b *Builder) attach(tree int, p string) error {
	target, err := OpenObject(b.T, b.root, rel(p))
	if err != nil {
		return steppkg.On(p, err)
	}
	defer b.T.Close(target)
	return steppkg.On(p, attachTo(b.T, tree, target))
}

// attachIn attaches to a name in a directory of the jail's own, where nobody but us has been.
func attachIn(t *stub.Task, tree, dir int, name string) error {
	return t.MoveMount(tree, "", dir, name, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

func attachTo(t *stub.Task, tree, target int) error {
	return t.MoveMount(tree, "", target, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// mkdirs makes a directory and its parents in the jail's own root. A name that
// is there already stays as it is.
func (b *Builder) mkdirs(p string, mode uint32) error {
	if p == "/" || p == "." || slices.Contains(b.dirs, p) {
		return nil
	}
	if err := b.mkdirs(path.Dir(p), mode); err != nil {
		return err
	}
	if err := b.T.Mkdirat(b.root, rel(p), mode); err != nil && err != unix.EEXIST {
		return steppkg.On(p, err)
	}
	b.dirs = append(b.dirs, p)
	return nil
}

// touch makes a file, with its directories. One that is there stays as it is.
func (b *Builder) touch(p, content string, dirMode uint32) error {
	if err := b.mkdirs(path.Dir(p), dirMode); err != nil {
		return err
	}
	if err := b.create(p, content); err != unix.EEXIST {
		return steppkg.On(p, err)
	}
	return nil
}

func (b *Builder) create(p, content string) error {
	if content == "" { // as most are: mount points
		if err := b.T.Mknodat(b.root, rel(p), unix.S_IFREG|0o644, 0); err != unix.EPERM {
			return err
		} // a filter around us
	}
	fd, err := b.T.Openat(b.root, rel(p), unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return err
	}
	defer b.T.Close(fd)
	return writeAll(b.T, fd, content)
}

// attachDev attaches the /dev with the harmless nodes, terminals of its own and
// nothing else.
func (b *Builder) attachDev() error {
	if err := b.mkdirs("/dev", openDir); err != nil {
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
		if err := steppkg.On(name, attachIn(b.T, node, b.PrivateFS.dev, path.Base(name))); err != nil {
			return err
		}
	}
	return steppkg.On("/dev/pts", attachIn(b.T, b.PrivateFS.pts, b.PrivateFS.dev, "pts"))
}

var maskAttr = unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC | unix.MOUNT_ATTR_RDONLY}

// newMask is one more mask, attached to nothing yet. All but the first are clones of
// one that is attached, with its attributes.
func (b *Builder) newMask(dir bool) (tree int, err error) {
	kind, name := 0, maskFile
	if dir {
		kind, name = 1, maskDir
	}
	if first := b.masks[kind]; first != 0 {
		return openTree(b.T, first, "", unix.AT_EMPTY_PATH, maskAttr)
	}
	fd, err := OpenObject(b.T, b.PrivateFS.dev, name)
	if err != nil {
		return -1, err
	}
	defer b.T.Close(fd)
	tree, err = openTree(b.T, fd, "", unix.AT_EMPTY_PATH, maskAttr)
	b.masks[kind] = tree
	return tree, err
}

// releaseMask lets go of a mask that is attached.
func (b *Builder) releaseMask(tree int) {
	if tree != b.masks[0] && tree != b.masks[1] {
		b.T.Close(tree)
	}
}

func (b *Builder) maskAt(target int, dir bool) error {
	tree, err := b.newMask(dir)
	if err != nil {
		return err
	}
	defer b.releaseMask(tree)
	return attachTo(b.T, tree, target)
}

func (b *Builder) attachAll() error {
	for i := range b.Spec.Mounts {
		op := &b.Spec.Mounts[i]
		if op.Path == "/" {
			continue
		}
		if err := b.attachMount(op, b.trees[i]); err != nil {
			var se *steppkg.WrappedError
			if errors.As(err, &se) {
				return err
			}
			return steppkg.On(op.Path, err)
		}
	}
	return nil
}

// attachMount makes the mount point, where it is one of the jail's own, and attaches to it
// what the plan says.
func (b *Builder) attachMount(op *spec.Mount, tree int) error {
	if !op.OnExisting {
		if err := b.mountPoint(op); err != nil {
			return err
		}
		if op.Cloned() {
			return attachIn(b.T, tree, b.root, rel(op.Path)) // the descriptor is kept: see takeTree
		}
	}
	open := OpenObject
	if op.Kind == spec.MountMask {
		open = OpenLast // a symlink is hidden by a mount on itself
	}
	target, err := open(b.T, b.root, rel(op.Path))
	if err != nil {
		return err
	}
	defer b.T.Close(target)
	if op.OnExisting {
		if err := sameObject(op, b.T, target); err != nil {
			return err
		}
	}
	switch {
	case op.Kind == spec.MountPin:
		if tree, err = openTree(b.T, target, "", unix.AT_EMPTY_PATH, attributesOf(op)); err != nil {
			return err
		}
		fallthrough
	case op.Cloned():
		defer b.T.Close(tree)
		return attachTo(b.T, tree, target)
	case op.Kind == spec.MountMask && !op.Traversable:
		return b.maskAt(target, op.IsDir)
	}
	return b.attachTmpfs(op, target)
}

// takeTree gives away the descriptor of what was attached at a path in the jail's own
// directories, for a rule of Landlock's: looking the object up again by its name takes
// longer than the rule does.
func (b *Builder) TakeTree(p string) (fd int, ok bool) {
	for i, tree := range b.trees {
		if b.isKept(i) && b.Spec.Mounts[i].Path == p {
			b.trees[i] = 0
			return tree, true
		}
	}
	return -1, false
}

// isKept tells whether a clone that was attached is still open. The one of "/" is the root
// itself, which has other uses.
func (b *Builder) isKept(i int) bool {
	op := &b.Spec.Mounts[i]
	return b.trees[i] > 0 && !op.OnExisting && op.Path != "/"
}

// closeTrees closes those that no rule is about.
func (b *Builder) CloseTrees() {
	for i, tree := range b.trees {
		if b.isKept(i) {
			b.T.Close(tree)
			b.trees[i] = 0
		}
	}
}

func (b *Builder) mountPoint(op *spec.Mount) error {
	mode := uint32(openDir)
	if op.UnderMask {
		mode = shutDir
	}
	if op.IsDir {
		return b.mkdirs(op.Path, mode)
	}
	return b.touch(op.Path, "", mode)
}

// sameObject checks that the name still leads to the object that was resolved, seen
// through what was attached around it.
func sameObject(op *spec.Mount, t *stub.Task, target int) error {
	return Identify(t, target, func(found policy.FileID) error {
		if !op.InOverlay && op.ID != (policy.FileID{}) && found != op.ID { // which may be known since the clone
			return ErrSwapped
		}
		op.ID = found // for checkMounts
		return nil
	})
}

// attachTmpfs attaches an empty filesystem: a place of the jail's own, or a mask that can
// be passed through to what is granted below, and not listed.
func (b *Builder) attachTmpfs(op *spec.Mount, target int) error {
	options := append(tmpfsLimits(b.Spec.Limits.MemoryMB), "mode=0777")
	if !slices.Contains(spec.PrivateDirs, op.Path) {
		options = append(tmpfsLimits(b.Spec.Limits.MemoryMB), "mode=0700") // a HOME, as it is on the host
	}
	if op.Kind == spec.MountMask {
		options = []string{"mode=0" + strconv.FormatInt(shutDir, 8), "size=1m"}
	}
	fs, err := NewFS(b.T, "tmpfs", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV, options...)
	if err != nil {
		return err
	}
	if op.Kind == spec.MountMask {
		b.toSeal = append(b.toSeal, fs)
	} else {
		defer b.T.Close(fs)
	}
	return attachTo(b.T, fs, target)
}

// tmpfsLimits bounds a filesystem of the jail's own: its pages are memory, so it holds
// half of what the jail may use, and for every 8 KiB of that one file.
func tmpfsLimits(memoryMB int) []string {
	if memoryMB <= 0 {
		return []string{"size=2g"}
	}
	return []string{"size=" + strconv.Itoa(memoryMB<<10/2) + "k", "nr_inodes=" + strconv.Itoa(memoryMB<<10/16+64)}
}

// pivot makes the new root, which is empty as yet, the root. The old one lies on top of it
// then, where the working directory leads to and no path does; it is detached with
// everything below it. The kernel takes as long for that, most of it waiting, as attaching
// does, which goes on meanwhile: see jailBuilder.join.
func (b *Builder) pivot() error {
	if err := steppkg.On("/", b.T.Fchdir(b.root)); err != nil {
		return err
	}
	if err := steppkg.On("pivot_root", b.T.PivotRoot(".", ".")); err != nil {
		return err
	}
	return b.SignalPivoted()
}

// seal makes the jail's own directories read-only. It lets go of them: the limit of open
// files, which comes soon, may be lower than they are many.
func (b *Builder) seal() error {
	for _, name := range []string{maskDir, maskFile} {
		flags := 0
		if name == maskDir {
			flags = unix.AT_REMOVEDIR
		}
		if err := steppkg.On("mask", b.T.Unlinkat(b.PrivateFS.dev, name, flags)); err != nil {
			return err
		}
	}
	readOnly := b.toSeal
	if !b.Spec.HostRoot() {
		readOnly = append(readOnly, b.root)
	}
	for _, fd := range readOnly {
		if err := steppkg.On("read-only", b.T.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})); err != nil {
			return err
		}
		b.T.Close(fd)
	}
	return nil
}
