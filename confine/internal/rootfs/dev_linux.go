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
		return step.On("devpts", err)
	}
	if f.dev, err = NewFS(f.Task, "tmpfs", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC, "mode=0755", "size=1m"); err != nil {
		return step.On("/dev", err)
	}
	if f.root, err = NewFS(f.Task, "tmpfs", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV, "mode=0755", "size=8m"); err != nil {
		return step.On("tmpfs", err)
	}
	if err := f.fillDev(); err != nil {
		return err
	}
	f.Devices = make(map[string]int, len(spec.DeviceNodes))
	for _, name := range spec.DeviceNodes {
		node := path.Join("/dev", name)
		fd, err := OpenObject(f.Task, unix.AT_FDCWD, node)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return step.On(node, err)
		}
		// A device on a read-only mount can be written to. The mount protects the mode,
		// the owner and the times of the host's node. The clone is private because this step
		// may run before PrivateMounts, and later mounts of the host must not appear here.
		if f.Devices[node], err = openTree(f.Task, fd, "", unix.AT_EMPTY_PATH, unix.MountAttr{
			Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC, Propagation: unix.MS_PRIVATE,
		}); err != nil {
			return step.On(node, err)
		}
		stub.Close(f.Task, fd)
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
		if err := step.On("/dev/"+name, stub.Symlinkat(f.Task, target, f.dev, name)); err != nil {
			return err
		}
	}
	for name, mode := range map[string]uint32{"pts": openDir, "shm": openDir, maskDir: 0} {
		if err := step.On("/dev/"+name, stub.Mkdirat(f.Task, f.dev, name, mode)); err != nil {
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
	return step.On("/dev/"+name, err)
}
