package attacker

import (
	"os"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"golang.org/x/sys/unix"
)

// verbsOnModes are attempts on what is said about a file: mode, owner, times, attributes.
var verbsOnModes = map[string]func(args []string) (string, error){
	"chmod":    silent(func(a []string) error { return unix.Chmod(a[0], 0o755) }),
	"chmod-id": silent(func(a []string) error { return unix.Chmod(a[0], 0o4755) }),
	"touch":    silent(func(a []string) error { return unix.UtimesNanoAt(unix.AT_FDCWD, a[0], nil, 0) }),
	"utimes": silent(func(a []string) error {
		return unix.UtimesNanoAt(unix.AT_FDCWD, a[0], []unix.Timespec{{}, {}}, 0)
	}),
	"chmod-fd": silent(func(a []string) error { return onFD(a[0], func(fd int) error { return unix.Fchmod(fd, 0o700) }) }),
	"utimes-fd": silent(func(a []string) error {
		return onFD(a[0], func(fd int) error { return unix.Futimes(fd, []unix.Timeval{{}, {}}) })
	}),
	"utime": silent(func(a []string) error { return unix.Utime(a[0], &unix.Utimbuf{}) }),
	"lutimes": silent(func(a []string) error {
		return unix.UtimesNanoAt(unix.AT_FDCWD, a[0], []unix.Timespec{{}, {}}, unix.AT_SYMLINK_NOFOLLOW)
	}),
	"chown":  silent(func(a []string) error { return unix.Chown(a[0], os.Getuid(), os.Getgid()) }),
	"lchown": silent(func(a []string) error { return unix.Lchown(a[0], os.Getuid(), os.Getgid()) }),
	"xattr":  silent(func(a []string) error { return unix.Setxattr(a[0], "user.test", []byte("x"), 0) }),
	"set-flags": silent(func(a []string) error {
		const noDump = 0x40 // of the flags in chattr(1), one that every owner may set
		return onFD(a[0], func(fd int) error {
			flags, err := unix.IoctlGetInt(fd, unix.FS_IOC_GETFLAGS)
			if err != nil {
				return err
			}
			return unix.IoctlSetPointerInt(fd, seccomp.FsSetFlags, flags|noDump)
		})
	}),
}

func onFD(name string, f func(fd int) error) error {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return f(fd)
}
