package confine

import (
	"errors"
	"path"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/stub"
)

// ownFilesystems are the parts of a jail's root that are the same in every jail:
// its /dev, its terminals, its proc. They are made while the order is still
// being written, attached to nothing.
type ownFilesystems struct {
	t       *stub.Task
	root    int            // a tmpfs for what else there is to be
	dev     int            // a tmpfs with everything in it but what is mounted on it
	pts     int            // a devpts
	devices map[string]int // clones of the host's nodes, by path
	proc    int            // -1 with procErr
	procErr error
}

// deviceNodes are bound from the host: a user namespace cannot make its own.
var deviceNodes = []string{"null", "zero", "full", "random", "urandom", "tty"}

// maxTerminals are the most that one jail can have. The kernel counts those of all jails
// and containers together, 3072 of them (kernel.pty.max less kernel.pty.reserve).
const maxTerminals = 128

// The stand-ins of masks lie in the jail's /dev while it is being built: empty,
// and shut even for their owner.
const maskDir, maskFile = ".masked-directory", ".masked-file"

func (f *ownFilesystems) make() (err error) {
	// The kernel shows a fresh proc to a namespace that can see an old one in
	// full; whether a refusal matters is known when the order is there.
	f.proc, f.procErr = newFs(f.t, "proc", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
	if f.pts, err = newFs(f.t, "devpts", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC, "ptmxmode=0666", "mode=0620", "max="+strconv.Itoa(maxTerminals)); err != nil {
		return on("devpts", err)
	}
	if f.dev, err = newFs(f.t, "tmpfs", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC, "mode=0755", "size=1m"); err != nil {
		return on("/dev", err)
	}
	if f.root, err = newFs(f.t, "tmpfs", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV, "mode=0755", "size=8m"); err != nil {
		return on("tmpfs", err)
	}
	if err := f.fillDev(); err != nil {
		return err
	}
	f.devices = make(map[string]int, len(deviceNodes))
	for _, name := range deviceNodes {
		node := path.Join("/dev", name)
		fd, err := openObject(f.t, unix.AT_FDCWD, node)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return on(node, err)
		}
		// A device is written to on a read-only mount as well; but its mode, owner and
		// times are the host's. And this may come before privateMounts: what the host
		// mounts there later must not show in the jail.
		if f.devices[node], err = openTree(f.t, fd, "", unix.AT_EMPTY_PATH, unix.MountAttr{
			Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC, Propagation: unix.MS_PRIVATE,
		}); err != nil {
			return on(node, err)
		}
		f.t.Close(fd)
		if err := f.touch(name, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (f *ownFilesystems) fillDev() error {
	for name, target := range map[string]string{
		"ptmx": "pts/ptmx", "fd": "/proc/self/fd",
		"stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
	} {
		if err := on("/dev/"+name, f.t.Symlinkat(target, f.dev, name)); err != nil {
			return err
		}
	}
	for name, mode := range map[string]uint32{"pts": openDir, "shm": openDir, maskDir: 0} {
		if err := on("/dev/"+name, f.t.Mkdirat(f.dev, name, mode)); err != nil {
			return err
		}
	}
	return f.touch(maskFile, 0)
}

func (f *ownFilesystems) touch(name string, mode uint32) error {
	err := f.t.Mknodat(f.dev, name, unix.S_IFREG|mode, 0)
	if errors.Is(err, unix.EPERM) { // a filter around us
		var fd int
		if fd, err = f.t.Openat(f.dev, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, mode); err == nil {
			f.t.Close(fd)
		}
	}
	return on("/dev/"+name, err)
}
