package jail

import (
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
)

// An overlay shows a directory of the host. Its lower layer is a read-only clone of the
// directory, and its upper layer is a tmpfs that nothing else refers to. Both end with the
// jail. The kernel copies a file when it is opened for writing
// (Documentation/filesystems/overlayfs.rst).
//
// The overlay reads and copies with the rights of the task that mounts it, which are the
// user's. Landlock's rules apply to the merged tree.

// scratchDir is where the layers of an overlay are attached, because before Linux 6.15 the
// kernel takes no detached mount as a layer. attachRoot covers it with the jail's root, and
// the layers go away with the old root.
const scratchDir = "/tmp"

// mountOverlays replaces the clone of each overlay mount by an overlay. openSources must have opened all
// sources before, because scratchDir hides a part of the host's tree.
func (b *rootBuilder) mountOverlays() error {
	scratch := -1
	for i := range b.Spec.Mounts {
		m := &b.Spec.Mounts[i]
		if m.Kind != spec.MountOverlay {
			continue
		}
		if scratch < 0 {
			var err error
			if scratch, err = b.attachScratch(); err != nil {
				return sys.On(m.Path, err)
			}
			defer stub.Close(b.Task, scratch)
		}
		overlay, err := b.overlay(m, b.trees[i], scratch, strconv.Itoa(i))
		if err != nil {
			return sys.On(m.Path, err)
		}
		stub.Close(b.Task, b.trees[i])
		b.trees[i] = overlay
	}
	return nil
}

// attachScratch makes the tmpfs with the layers of the overlays, whose size bounds them.
func (b *rootBuilder) attachScratch() (int, error) {
	scratch, err := NewFS(b.Task, "tmpfs", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV, append(tmpfsLimits(b.Spec.Limits.MemoryMB), "mode=0700")...)
	if err != nil {
		return -1, err
	}
	return scratch, stub.MoveMount(b.Task, scratch, "", unix.AT_FDCWD, scratchDir, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

func (b *rootBuilder) overlay(m *spec.Mount, source, scratch int, number string) (int, error) {
	// The mode of upper is the mode of the merged root: for the user alone, like a HOME.
	for _, name := range []string{"lower", "upper", "work"} {
		if err := stub.Mkdirat(b.Task, scratch, name+number, 0o700); err != nil {
			return -1, err
		}
	}
	if err := stub.MoveMount(b.Task, source, "", scratch, "lower"+number, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return -1, err
	}
	layer := func(name string) string { return name + "dir=" + scratchDir + "/" + name + number }
	return NewFS(b.Task, "overlay", int(attributesOf(m).Attr_set), "userxattr", "index=off", "xino=off", layer("lower"), layer("upper"), layer("work"))
}
