package rootfs

import (
	"strconv"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"golang.org/x/sys/unix"
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

// MountOverlays replaces the clone of each overlay mount by an overlay, and the clone of each file that is
// copied by a clone of its copy. OpenSources must have opened all sources before, because scratchDir hides a
// part of the host's tree.
func (b *Builder) MountOverlays() error {
	if err := b.checkCopied(); err != nil {
		return err
	}
	scratch := -1
	for i := range b.Spec.Mounts {
		m := &b.Spec.Mounts[i]
		if !m.Copied() {
			continue
		}
		if scratch < 0 {
			var err error
			if scratch, err = b.attachScratch(); err != nil {
				return step.On(m.Path, err)
			}
			defer stub.Close(b.Task, scratch)
		}
		replace := b.overlay
		if m.Kind == spec.MountCopy {
			replace = b.copyFile
		}
		copied, err := replace(m, b.trees[i], scratch, strconv.Itoa(i))
		if err != nil {
			return step.On(m.Path, err)
		}
		stub.Close(b.Task, b.trees[i])
		b.trees[i] = copied
	}
	return nil
}

// attachScratch makes the one tmpfs in which all copies of a jail are, so that its size bounds them together.
func (b *Builder) attachScratch() (int, error) {
	scratch, err := NewFS(b.Task, "tmpfs", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV, append(tmpfsLimits(b.Spec.Limits.MemoryMB), "mode=0700")...)
	if err != nil {
		return -1, err
	}
	return scratch, stub.MoveMount(b.Task, scratch, "", unix.AT_FDCWD, scratchDir, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

func (b *Builder) overlay(m *spec.Mount, source, scratch int, number string) (int, error) {
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

// checkCopied returns the error EACCES or EROFS if the user may not write to a file that is copied. The copy
// belongs to the user, so the server could write to it.
func (b *Builder) checkCopied() error {
	for i := range b.Spec.Mounts {
		m := &b.Spec.Mounts[i]
		if m.Kind != spec.MountCopy {
			continue
		}
		if err := stub.Faccessat(b.Task, unix.AT_FDCWD, m.Path, unix.W_OK); err != nil {
			return step.On(m.Path, err)
		}
	}
	return nil
}

// copyFile returns a clone of a copy of a file. The error is EFBIG if the file is too large, and ENOSPC if
// the copies of the jail have no room for it.
func (b *Builder) copyFile(m *spec.Mount, source, scratch int, number string) (int, error) {
	lower, upper := "lower"+number, "upper"+number
	if err := stub.Mknodat(b.Task, scratch, lower, unix.S_IFREG|0o600, 0); err != nil {
		return -1, err
	}
	if err := stub.MoveMount(b.Task, source, "", scratch, lower, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return -1, err
	}
	from, err := stub.Openat(b.Task, scratch, lower, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	defer stub.Close(b.Task, from)
	to, err := stub.Openat(b.Task, scratch, upper, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return -1, err
	}
	defer stub.Close(b.Task, to)
	if err := b.copyContent(to, from); err != nil {
		return -1, err
	}
	if err := stub.Fchmod(b.Task, to, m.Mode); err != nil {
		return -1, err
	}
	if err := stub.SetModified(b.Task, to, m.Modified); err != nil {
		return -1, err
	}
	return openTree(b.Task, scratch, upper, 0, attributesOf(m))
}

func (b *Builder) copyContent(to, from int) error {
	st := new(unix.Statx_t)
	if err := stub.Statx(b.Task, from, "", unix.AT_EMPTY_PATH, unix.STATX_TYPE|unix.STATX_SIZE, st); err != nil {
		return err
	}
	n, err := stub.Sendfile(b.Task, to, from, spec.MaxCopy+1)
	if err != nil {
		return err
	}
	return b.Task.OnComplete(func() error {
		switch n := b.Task.Resolve(n); {
		case st.Mode&unix.S_IFMT != unix.S_IFREG:
			return unix.EINVAL
		case n > spec.MaxCopy:
			return unix.EFBIG
		case uint64(n) < st.Size:
			return unix.ENOSPC
		}
		return nil
	})
}
