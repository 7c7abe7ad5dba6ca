package jail

import (
	"errors"
	"path"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy"
)

func (b *rootBuilder) attachAll() error {
	for i := range b.Spec.Mounts {
		m := &b.Spec.Mounts[i]
		if m.Path == "/" {
			continue
		}
		if err := b.attachMount(m, b.trees[i]); err != nil {
			var se *sys.WrappedError
			if errors.As(err, &se) {
				return err
			}
			return sys.On(m.Path, err)
		}
	}
	return nil
}

func (b *rootBuilder) attachMount(m *spec.Mount, tree int) error {
	if !m.OnExisting {
		if err := b.mountPoint(m); err != nil {
			return err
		}
		if m.Cloned() {
			return attachIn(b.Task, tree, b.root, rel(m.Path)) // the descriptor stays open for takeTree
		}
		return b.attachTmpfs(m, func(fs int) error { return b.attach(fs, m.Path) })
	}
	open := OpenObject
	if m.Kind == spec.MountMask {
		open = OpenLast // a symlink is hidden by a mount on itself
	}
	target, err := open(b.Task, b.root, rel(m.Path))
	if err != nil {
		return err
	}
	defer stub.Close(b.Task, target)
	if err := sameObject(m, b.Task, target); err != nil {
		return err
	}
	switch {
	case m.Kind == spec.MountPin:
		if tree, err = openTree(b.Task, target, "", unix.AT_EMPTY_PATH, attributesOf(m)); err != nil {
			return err
		}
		fallthrough
	case m.Cloned():
		defer stub.Close(b.Task, tree)
		return attachTo(b.Task, tree, target)
	case m.Kind == spec.MountMask && !m.Traversable:
		return b.maskAt(target, m.IsDir)
	}
	return b.attachTmpfs(m, func(fs int) error { return attachTo(b.Task, fs, target) })
}

// takeTree returns the descriptor of the mount that was attached at a path in the jail's own
// directories, for a Landlock rule. This is faster than another lookup. The caller closes it.
func (b *rootBuilder) takeTree(p string) (fd int, ok bool) {
	if node, ok := b.PrivateFS.Devices[p]; ok {
		delete(b.PrivateFS.Devices, p)
		return node, true
	}
	for i, tree := range b.trees {
		if b.isKept(i) && b.Spec.Mounts[i].Path == p {
			b.trees[i] = 0
			return tree, true
		}
	}
	return -1, false
}

// isKept reports whether the descriptor of an attached clone is still open for takeTree. The
// clone of "/" is not: it is the root itself.
func (b *rootBuilder) isKept(i int) bool {
	m := &b.Spec.Mounts[i]
	return b.trees[i] > 0 && !m.OnExisting && m.Path != "/"
}

// closeTrees closes the descriptors that takeTree has not returned.
func (b *rootBuilder) closeTrees() {
	for i, tree := range b.trees {
		if b.isKept(i) {
			stub.Close(b.Task, tree)
			b.trees[i] = 0
		}
	}
}

func (b *rootBuilder) mountPoint(m *spec.Mount) error {
	mode := uint32(openDir)
	if m.UnderMask {
		mode = shutDir
	}
	if !m.IsDir {
		return b.touch(m.Path, "", mode)
	}
	if err := b.mkdirs(path.Dir(m.Path), mode); err != nil {
		return err
	}
	return b.mkdir(m.Path, mode) // the mount covers it, and has a mode of its own
}

// sameObject checks that the path still leads to the object that was resolved, and stores
// the identity of that object in m.
func sameObject(m *spec.Mount, t *stub.Task, target int) error {
	return Identify(t, target, func(found policy.FileID) error {
		if !m.InOverlay && m.ID != (policy.FileID{}) && found != m.ID { // openSources may have set m.ID
			return ErrSwapped
		}
		m.ID = found // for jail.Restrictor.CheckMounts
		return nil
	})
}

// attachTmpfs attaches an empty tmpfs: a directory of the jail's own, or a traversable mask,
// through which the server reaches the paths that are granted below it.
func (b *rootBuilder) attachTmpfs(m *spec.Mount, attach func(fs int) error) error {
	options := append(tmpfsLimits(b.Spec.Limits.MemoryMB), "mode=0777")
	if !slices.Contains(spec.PrivateDirs, m.Path) {
		options = append(tmpfsLimits(b.Spec.Limits.MemoryMB), "mode=0700") // a HOME, with the usual mode
	}
	if m.Kind == spec.MountMask {
		options = []string{"mode=0" + strconv.FormatUint(uint64(dirMode(m.Path, shutDir)), 8), "size=1m"}
	}
	fs, err := NewFS(b.Task, "tmpfs", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV, options...)
	if err != nil {
		return err
	}
	if m.Kind == spec.MountMask {
		b.toSeal = append(b.toSeal, fs)
	} else {
		defer stub.Close(b.Task, fs)
	}
	return attach(fs)
}

// tmpfsLimits returns options that bound a tmpfs of the jail's own. Its pages are memory, so
// it holds at most half of the jail's memory limit, and one file for every 8 KiB of that.
func tmpfsLimits(memoryMB int) []string {
	if memoryMB <= 0 {
		return []string{"size=2g"}
	}
	return []string{"size=" + strconv.Itoa(memoryMB<<10/2) + "k", "nr_inodes=" + strconv.Itoa(memoryMB<<10/16+64)}
}

// maskAttr are the attributes of masks.
var maskAttr = unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC | unix.MOUNT_ATTR_RDONLY}

// newMask returns one more mask, attached nowhere. It clones the first mask of the same kind,
// if there is one.
func (b *rootBuilder) newMask(dir bool) (tree int, err error) {
	kind, name := 0, maskFile
	if dir {
		kind, name = 1, maskDir
	}
	if first := b.masks[kind]; first != 0 {
		return openTree(b.Task, first, "", unix.AT_EMPTY_PATH, maskAttr)
	}
	fd, err := OpenObject(b.Task, b.PrivateFS.dev, name)
	if err != nil {
		return -1, err
	}
	defer stub.Close(b.Task, fd)
	tree, err = openTree(b.Task, fd, "", unix.AT_EMPTY_PATH, maskAttr)
	b.masks[kind] = tree
	return tree, err
}

// releaseMask closes the descriptor of an attached mask, unless newMask still clones it.
func (b *rootBuilder) releaseMask(tree int) {
	if tree != b.masks[0] && tree != b.masks[1] {
		stub.Close(b.Task, tree)
	}
}

func (b *rootBuilder) maskAt(target int, dir bool) error {
	tree, err := b.newMask(dir)
	if err != nil {
		return err
	}
	defer b.releaseMask(tree)
	return attachTo(b.Task, tree, target)
}
