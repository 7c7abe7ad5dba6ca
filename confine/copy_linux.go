package confine

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/policy"
)

// A copy is an overlay of a directory of the host: what lies below is cloned by
// descriptor and read-only, what is written goes to a tmpfs that nothing else
// refers to, and both end with the jail. The kernel copies a file when it is opened
// for writing (Documentation/filesystems/overlayfs.rst).
//
// The overlay reads and copies with the rights that the shim has now, which are the
// user's, and Landlock's rules are about the merged tree.

// scratchPlace is where the parts of an overlay are named: the kernel takes no
// detached mount for a layer before Linux 6.15. The jail's root comes over it
// (attachRoot), and goes away with the old root what lies there.
const scratchPlace = "/tmp"

// copies puts an overlay in the place of every clone that is to be a copy. All
// sources are open by then, so that nothing is looked up in what this hides.
func (b *rootBuilder) copies() error {
	for i := range b.order.Mounts {
		op := &b.order.Mounts[i]
		if op.kind != mountCopy {
			continue
		}
		overlay, err := b.overlay(op, b.trees[i])
		if err != nil {
			return on(op.path, err)
		}
		b.t.Close(b.trees[i])
		b.trees[i] = overlay
	}
	return nil
}

func (b *rootBuilder) overlay(op *mountOp, source int) (int, error) {
	scratch, err := newFs(b.t, "tmpfs", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV, append(ownSize(b.order.Limits.MemoryMB), "mode=0700")...)
	if err != nil {
		return -1, err
	}
	defer b.t.Close(scratch)
	// The new root of the merged tree is upper: for the user alone, as a HOME is.
	for _, name := range []string{"lower", "upper", "work"} {
		if err := b.t.Mkdirat(scratch, name, 0o700); err != nil {
			return -1, err
		}
	}
	if err := b.t.MoveMount(scratch, "", unix.AT_FDCWD, scratchPlace, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return -1, err
	}
	if err := b.t.MoveMount(source, "", scratch, "lower", unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return -1, err
	}
	return newFs(b.t, "overlay", int(attributesOf(op).Attr_set), "userxattr", "index=off", "xino=off",
		"lowerdir="+scratchPlace+"/lower", "upperdir="+scratchPlace+"/upper", "workdir="+scratchPlace+"/work")
}

// stepCopies is the step that fails where the kernel makes no overlay.
const stepCopies = "copies"

// askCopies finds out whether there can be the copy that a profile wants, by having a
// shim make it. Of a directory that does not exist yet that is not known.
func (l Launcher) askCopies(p *policy.Profile) Feature {
	dir := ephemeral(p)
	if _, err := os.Lstat(dir); err != nil {
		return Feature{}
	}
	return probed.get(copyOf(dir), func() Feature {
		s := l.spawn(shimOwnNet)
		s.process.plan = &Plan{Profile: &policy.Profile{}}
		order := order{Mounts: []mountOp{{kind: mountCopy, path: dir, dir: true}}}
		s.instruct(instruction{plan: s.process.plan, order: order})
		err := <-s.started
		<-s.process.done
		if err == nil {
			return available("")
		}
		return noCopies(err)
	})
}

// knownCopies is what is remembered of it.
func knownCopies(p *policy.Profile) Feature {
	return probed.get(copyOf(ephemeral(p)), func() Feature { return Feature{} })
}

// refusedCopies tells whether a start failed because there can be none, and
// remembers it.
func refusedCopies(p *policy.Profile, err error) Feature {
	if err == nil {
		return Feature{}
	}
	return probed.renew(copyOf(ephemeral(p)), func() Feature { return noCopies(err) })
}

// copyOf is under what name it is remembered. Filesystems differ in what can be
// done with them.
func copyOf(dir string) string { return "copies " + dir }

// noCopies judges the error of a start: with the answer No, an overlay was refused.
func noCopies(err error) Feature {
	var se *StartError
	if !errors.As(err, &se) || se.Step != stepCopies {
		return undetermined("no jail could be built to find out")
	}
	switch se.Errno {
	case syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.EINTR, syscall.EIO:
		return undetermined(se.Error())
	}
	return unavailable("the kernel makes no overlay of "+se.Detail+": "+se.Errno.Error(), "use Linux 5.11 or newer with CONFIG_OVERLAY_FS, and a filesystem that it can lie on")
}
