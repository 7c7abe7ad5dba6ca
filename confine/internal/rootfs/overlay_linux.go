package rootfs

import (
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"golang.org/x/sys/unix"
)

// A copy is an overlay of a directory of the host: what lies below is cloned by
// descriptor and read-only, what is written goes to a tmpfs that nothing else
// refers to, and both end with the jail. The kernel copies a file when it is opened
// for writing (Documentation/filesystems/overlayfs.rst).
//
// The overlay reads and copies with the rights that the shim has now, which are the
// user's, and Landlock's rules are about the merged tree.

// scratchDir is where the parts of an overlay are named: the kernel takes no
// detached mount for a layer before Linux 6.15. The jail's root comes over it
// (attachRoot), and goes away with the old root what lies there.
const scratchDir = "/tmp"

// copies puts an overlay in the place of every clone that is to be a copy. All
// sources are open by then, so that nothing is looked up in what this hides.
func (b *Builder) MountOverlays() error {
	for i := range b.Spec.Mounts {
		op := &b.Spec.Mounts[i]
		if op.Kind != spec.MountOverlay {
			continue
		}
		overlay, err := b.overlay(op, b.trees[i])
		if err != nil {
			return step.On(op.Path, err)
		}
		b.T.Close(b.trees[i])
		b.trees[i] = overlay
	}
	return nil
}

func (b *Builder) overlay(op *spec.Mount, source int) (int, error) {
	scratch, err := NewFS(b.T, "tmpfs", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV, append(tmpfsLimits(b.Spec.Limits.MemoryMB), "mode=0700")...)
	if err != nil {
		return -1, err
	}
	defer b.T.Close(scratch)
	// The new root of the merged tree is upper: for the user alone, as a HOME is.
	for _, name := range []string{"lower", "upper", "work"} {
		if err := b.T.Mkdirat(scratch, name, 0o700); err != nil {
			return -1, err
		}
	}
	if err := b.T.MoveMount(scratch, "", unix.AT_FDCWD, scratchDir, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return -1, err
	}
	if err := b.T.MoveMount(source, "", scratch, "lower", unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return -1, err
	}
	return NewFS(b.T, "overlay", int(attributesOf(op).Attr_set), "userxattr", "index=off", "xino=off",
		"lowerdir="+scratchDir+"/lower", "upperdir="+scratchDir+"/upper", "workdir="+scratchDir+"/work")
}
