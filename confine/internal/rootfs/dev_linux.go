package rootfs

import (
	"errors"
	"path"
	"strconv"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"golang.org/x/sys/unix"
)

// ownFilesystems are the parts of a jail's root that are the same in every jail:
// its /dev, its terminals, its proc. They are made while the order is still
// being written, attached to nothing.
type PrivateFS struct {
	T       *stub.Task
	root    int            // a tmpfs for what else there is to be
	dev     int            // a tmpfs with everything in it but what is mounted on it
	pts     int            // a devpts
	Devices map[string]int // clones of the host's nodes, by path
	proc    int            // -1 with procErr
	procErr error
}

// maxTerminals are the most that one jail can have. The kernel counts those of all jails
// and containers together, 3072 of them (kernel.pty.max less kernel.pty.reserve).
const MaxTerminals = 128

// The stand-ins of masks lie in the jail's /dev while it is being built: empty,
// and shut even for their owner.
const maskDir, maskFile = ".masked-directory", ".masked-file"

func (f *PrivateFS) Make() (err error) {
	// The kernel shows a fresh proc to a namespace that can see an old one in
	// full; whether a refusal matters is known when the order is there.
	f.proc, f.procErr = NewFS(f.T, "proc", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
	if f.pts, err = NewFS(f.T, "devpts", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC, "ptmxmode=0666", "mode=0620", "max="+strconv.Itoa(MaxTerminals)); err != nil {
		return step.On("devpts", err)
	}
	if f.dev, err = NewFS(f.T, "tmpfs", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC, "mode=0755", "size=1m"); err != nil {
		return step.On("/dev", err)
	}
	if f.root, err = NewFS(f.T, "tmpfs", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV, "mode=0755", "size=8m"); err != nil {
		return step.On("tmpfs", err)
	}
	if err := f.fillDev(); err != nil {
		return err
	}
	f.Devices = make(map[string]int, len(spec.DeviceNodes))
	for _, name := range spec.DeviceNodes {
		node := path.Join("/dev", name)
		fd, err := OpenObject(f.T, unix.AT_FDCWD, node)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return step.On(node, err)
		}
		// A device is written to on a read-only mount as well; but its mode, owner and
		// times are the host's. And this may come before privateMounts: what the host
		// mounts there later must not show in the jail.
		if f.Devices[node], err = openTree(f.T, fd, "", unix.AT_EMPTY_PATH, unix.MountAttr{
			Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC, Propagation: unix.MS_PRIVATE,
		}); err != nil {
			return step.On(node, err)
		}
		f.T.Close(fd)
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
		if err := step.On("/dev/"+name, f.T.Symlinkat(target, f.dev, name)); err != nil {
			return err
		}
	}
	for name, mode := range map[string]uint32{"pts": openDir, "shm": openDir, maskDir: 0} {
		if err := step.On("/dev/"+name, f.T.Mkdirat(f.dev, name, mode)); err != nil {
			return err
		}
	}
	return f.touch(maskFile, 0)
}

func (f *PrivateFS) touch(name string, mode uint32) error {
	err := f.T.Mknodat(f.dev, name, unix.S_IFREG|mode, 0)
	if errors.Is(err, unix.EPERM) { // a filter around us
		var fd int
		if fd, err = f.T.Openat(f.dev, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, mode); err == nil {
			f.T.Close(fd)
		}
	}
	return step.On("/dev/"+name, err)
}
