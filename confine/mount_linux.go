package confine

import (
	"errors"
	"path"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/stub"
	"github.com/mcp-jail/mcp-jail/policy"
)

// rootBuilder makes the jail's root out of nothing: a tmpfs, and onto it only
// what the order lists. It works on descriptors throughout: a source is opened
// without following a single symlink, checked to be the object that was
// resolved, and cloned before anything is attached, so that no name is looked
// up twice.
type rootBuilder struct {
	t      *stub.Task // who does it
	order  *order
	trees  []int // clones of the bind sources, by index of order.Mounts; 0 for none
	own    ownFilesystems
	proc   int      // a fresh proc, or -1
	sys    int      // its sys, or the host's; -1 for none
	root   int      // the new root, attached
	dirs   []string // in it, that are there
	masks  [2]int   // of a file, of a directory, attached somewhere; 0 for none yet
	holes  []int    // masks that become read-only at the end
	notes  []string
	turned func() error // is called when there is a new root, and the old one lies on top of it
}

// stepError carries what a step worked on.
type stepError struct {
	detail string
	err    error
}

func (e *stepError) Error() string { return e.detail + ": " + e.err.Error() }
func (e *stepError) Unwrap() error { return e.err }

func on(what string, err error) error {
	if err == nil {
		return nil
	}
	return &stepError{what, err}
}

// build is what comes when every source is open.
func (b *rootBuilder) build() error {
	for _, step := range []func() error{b.attachRoot, b.openProc, b.pivot, b.attachDev, b.attachProc, b.attachAll, b.links, b.files, b.seal} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// privateMounts cuts the mounts of the shim's namespace off from the host's.
func privateMounts(t *stub.Task) error {
	return on("/", t.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Propagation: unix.MS_PRIVATE}))
}

// attachRoot puts the new root over /tmp of the namespace, from where pivot_root
// takes it. Every source was opened before.
func (b *rootBuilder) attachRoot() error {
	if b.root = b.own.root; b.order.hostRoot() {
		b.root = b.trees[0] // the user grants the host's root
		b.t.Close(b.own.root)
	}
	return on("/tmp", b.t.MoveMount(b.root, "", unix.AT_FDCWD, "/tmp", unix.MOVE_MOUNT_F_EMPTY_PATH))
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

func (b *rootBuilder) attach(tree int, p string) error {
	target, err := openObject(b.t, b.root, rel(p))
	if err != nil {
		return on(p, err)
	}
	defer b.t.Close(target)
	return on(p, attachTo(b.t, tree, target))
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
func (b *rootBuilder) mkdirs(p string, mode uint32) error {
	if p == "/" || p == "." || slices.Contains(b.dirs, p) {
		return nil
	}
	if err := b.mkdirs(path.Dir(p), mode); err != nil {
		return err
	}
	if err := b.t.Mkdirat(b.root, rel(p), mode); err != nil && err != unix.EEXIST {
		return on(p, err)
	}
	b.dirs = append(b.dirs, p)
	return nil
}

// touch makes a file, with its directories. One that is there stays as it is.
func (b *rootBuilder) touch(p, content string, dirMode uint32) error {
	if err := b.mkdirs(path.Dir(p), dirMode); err != nil {
		return err
	}
	if err := b.create(p, content); err != unix.EEXIST {
		return on(p, err)
	}
	return nil
}

func (b *rootBuilder) create(p, content string) error {
	if content == "" { // as most are: mount points
		if err := b.t.Mknodat(b.root, rel(p), unix.S_IFREG|0o644, 0); err != unix.EPERM {
			return err
		} // a filter around us
	}
	fd, err := b.t.Openat(b.root, rel(p), unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return err
	}
	defer b.t.Close(fd)
	return writeAll(b.t, fd, content)
}

// attachDev attaches the /dev with the harmless nodes, terminals of its own and
// nothing else.
func (b *rootBuilder) attachDev() error {
	if err := b.mkdirs("/dev", openDir); err != nil {
		return err
	}
	if err := b.attach(b.own.dev, "/dev"); err != nil {
		return err
	}
	b.holes = append(b.holes, b.own.dev)
	for _, name := range b.order.Devices {
		node, ok := b.own.devices[name]
		if !ok {
			return on(name, unix.ENOENT)
		}
		if err := on(name, attachIn(b.t, node, b.own.dev, path.Base(name))); err != nil {
			return err
		}
	}
	return on("/dev/pts", attachIn(b.t, b.own.pts, b.own.dev, "pts"))
}

var maskAttr = unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC | unix.MOUNT_ATTR_RDONLY}

// newMask is one more mask, attached to nothing yet. All but the first are clones of
// one that is attached, with its attributes.
func (b *rootBuilder) newMask(dir bool) (tree int, err error) {
	kind, name := 0, maskFile
	if dir {
		kind, name = 1, maskDir
	}
	if first := b.masks[kind]; first != 0 {
		return openTree(b.t, first, "", unix.AT_EMPTY_PATH, maskAttr)
	}
	fd, err := openObject(b.t, b.own.dev, name)
	if err != nil {
		return -1, err
	}
	defer b.t.Close(fd)
	tree, err = openTree(b.t, fd, "", unix.AT_EMPTY_PATH, maskAttr)
	b.masks[kind] = tree
	return tree, err
}

// maskDone lets go of a mask that is attached.
func (b *rootBuilder) maskDone(tree int) {
	if tree != b.masks[0] && tree != b.masks[1] {
		b.t.Close(tree)
	}
}

func (b *rootBuilder) maskAt(target int, dir bool) error {
	tree, err := b.newMask(dir)
	if err != nil {
		return err
	}
	defer b.maskDone(tree)
	return attachTo(b.t, tree, target)
}

func (b *rootBuilder) attachAll() error {
	for i := range b.order.Mounts {
		op := &b.order.Mounts[i]
		if op.path == "/" {
			continue
		}
		if err := b.attachOp(op, b.trees[i]); err != nil {
			var se *stepError
			if errors.As(err, &se) {
				return err
			}
			return on(op.path, err)
		}
	}
	return nil
}

// attachOp makes the mount point, where it is one of the jail's own, and attaches to it
// what the plan says.
func (b *rootBuilder) attachOp(op *mountOp, tree int) error {
	if !op.inside {
		if err := b.mountPoint(op); err != nil {
			return err
		}
		if op.cloned() {
			return attachIn(b.t, tree, b.root, rel(op.path)) // the descriptor is kept: see takeTree
		}
	}
	open := openObject
	if op.kind == mountMask {
		open = openLast // a symlink is hidden by a mount on itself
	}
	target, err := open(b.t, b.root, rel(op.path))
	if err != nil {
		return err
	}
	defer b.t.Close(target)
	if op.inside {
		if err := sameObject(op, b.t, target); err != nil {
			return err
		}
	}
	switch {
	case op.kind == mountPin:
		if tree, err = openTree(b.t, target, "", unix.AT_EMPTY_PATH, attributesOf(op)); err != nil {
			return err
		}
		fallthrough
	case op.cloned():
		defer b.t.Close(tree)
		return attachTo(b.t, tree, target)
	case op.kind == mountMask && !op.holes:
		return b.maskAt(target, op.dir)
	}
	return b.attachOwn(op, target)
}

// takeTree gives away the descriptor of what was attached at a path in the jail's own
// directories, for a rule of Landlock's: looking the object up again by its name takes
// longer than the rule does.
func (b *rootBuilder) takeTree(p string) (fd int, ok bool) {
	for i, tree := range b.trees {
		if b.isKept(i) && b.order.Mounts[i].path == p {
			b.trees[i] = 0
			return tree, true
		}
	}
	return -1, false
}

// isKept tells whether a clone that was attached is still open. The one of "/" is the root
// itself, which has other uses.
func (b *rootBuilder) isKept(i int) bool {
	op := &b.order.Mounts[i]
	return b.trees[i] > 0 && !op.inside && op.path != "/"
}

// closeTrees closes those that no rule is about.
func (b *rootBuilder) closeTrees() {
	for i, tree := range b.trees {
		if b.isKept(i) {
			b.t.Close(tree)
			b.trees[i] = 0
		}
	}
}

func (b *rootBuilder) mountPoint(op *mountOp) error {
	mode := uint32(openDir)
	if op.hidden {
		mode = shutDir
	}
	if op.dir {
		return b.mkdirs(op.path, mode)
	}
	return b.touch(op.path, "", mode)
}

// sameObject checks that the name still leads to the object that was resolved, seen
// through what was attached around it.
func sameObject(op *mountOp, t *stub.Task, target int) error {
	return identify(t, target, func(found policy.FileID) error {
		if !op.copied && op.id != (policy.FileID{}) && found != op.id { // which may be known since the clone
			return errSwapped
		}
		op.id = found // for checkMounts
		return nil
	})
}

// attachOwn attaches an empty filesystem: a place of the jail's own, or a mask that can
// be passed through to what is granted below, and not listed.
func (b *rootBuilder) attachOwn(op *mountOp, target int) error {
	options := append(ownSize(b.order.Limits.MemoryMB), "mode=0777")
	if !slices.Contains(ownPlaces, op.path) {
		options = append(ownSize(b.order.Limits.MemoryMB), "mode=0700") // a HOME, as it is on the host
	}
	if op.kind == mountMask {
		options = []string{"mode=0" + strconv.FormatInt(shutDir, 8), "size=1m"}
	}
	fs, err := newFs(b.t, "tmpfs", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV, options...)
	if err != nil {
		return err
	}
	if op.kind == mountMask {
		b.holes = append(b.holes, fs)
	} else {
		defer b.t.Close(fs)
	}
	return attachTo(b.t, fs, target)
}

// ownSize bounds a filesystem of the jail's own: its pages are memory, so it holds
// half of what the jail may use, and for every 8 KiB of that one file.
func ownSize(memoryMB int) []string {
	if memoryMB <= 0 {
		return []string{"size=2g"}
	}
	return []string{"size=" + strconv.Itoa(memoryMB<<10/2) + "k", "nr_inodes=" + strconv.Itoa(memoryMB<<10/16+64)}
}

// pivot makes the new root, which is empty as yet, the root. The old one lies on top of it
// then, where the working directory leads to and no path does; it is detached with
// everything below it. The kernel takes as long for that, most of it waiting, as attaching
// does, which goes on meanwhile: see jailBuilder.join.
func (b *rootBuilder) pivot() error {
	if err := on("/", b.t.Fchdir(b.root)); err != nil {
		return err
	}
	if err := on("pivot_root", b.t.PivotRoot(".", ".")); err != nil {
		return err
	}
	return b.turned()
}

// seal makes the jail's own directories read-only. It lets go of them: the limit of open
// files, which comes soon, may be lower than they are many.
func (b *rootBuilder) seal() error {
	for _, name := range []string{maskDir, maskFile} {
		flags := 0
		if name == maskDir {
			flags = unix.AT_REMOVEDIR
		}
		if err := on("mask", b.t.Unlinkat(b.own.dev, name, flags)); err != nil {
			return err
		}
	}
	readOnly := b.holes
	if !b.order.hostRoot() {
		readOnly = append(readOnly, b.root)
	}
	for _, fd := range readOnly {
		if err := on("read-only", b.t.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})); err != nil {
			return err
		}
		b.t.Close(fd)
	}
	return nil
}
