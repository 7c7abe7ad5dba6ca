package attacker

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
)

// attemptNull sets mode and owner of the null device that is its stdin, to their present values.
func attemptNull([]string) (string, error) {
	var st unix.Stat_t
	if err := unix.Fstat(0, &st); err != nil || st.Rdev != unix.Mkdev(1, 3) {
		return "", fmt.Errorf("stdin is %#x: %v", st.Rdev, err)
	}
	outcome := func(err error) string { return ErrnoName(sys.Errno(err)) }
	return "fchmod " + outcome(unix.Fchmod(0, st.Mode&0o7777)) + " fchown " + outcome(unix.Fchown(0, int(st.Uid), int(st.Gid))), nil
}

func opening(flags int) func([]string) (string, error) {
	return silent(func(a []string) error { return Closing(unix.Open(a[0], flags|unix.O_CLOEXEC, 0o644)) })
}

func attemptMode(a []string) (string, error) {
	var st unix.Stat_t
	err := unix.Lstat(a[0], &st)
	return fmt.Sprintf("%o", st.Mode&0o7777), err
}

// verbsOnFiles are attempts on files and names.
var verbsOnFiles = map[string]func(args []string) (string, error){
	"null":          attemptNull,
	"read":          func(a []string) (string, error) { b, err := os.ReadFile(a[0]); return string(b), err },
	"list":          attemptList,
	"stat":          silent(func(a []string) error { var st unix.Stat_t; return unix.Lstat(a[0], &st) }),
	"mode":          attemptMode,
	"create":        opening(unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL),
	"mkfile":        silent(func(a []string) error { return unix.Mknod(a[0], unix.S_IFREG|0o644, 0) }),
	"mkdir":         silent(func(a []string) error { return unix.Mkdir(a[0], 0o755) }),
	"symlink":       silent(func(a []string) error { return unix.Symlink("/", a[0]) }),
	"mkfifo":        silent(func(a []string) error { return unix.Mkfifo(a[0], 0o644) }),
	"mksock":        silent(attemptBind),
	"tmpfile":       silent(attemptTmpfile),
	"open":          opening(unix.O_RDONLY),
	"write":         opening(unix.O_WRONLY),
	"append":        opening(unix.O_WRONLY | unix.O_APPEND),
	"rewrite":       opening(unix.O_WRONLY | unix.O_TRUNC),
	"empty":         opening(3 | unix.O_TRUNC), // neither to read nor to write
	"trunc":         opening(unix.O_RDONLY | unix.O_TRUNC),
	"open-truncate": opening(unix.O_RDONLY | unix.O_TRUNC),
	"truncate": silent(func(a []string) error {
		return unix.Truncate(a[0], 4) // fewer, and an execution of it has the kernel look for a module
	}),
	"unlink": silent(func(a []string) error { return unix.Unlink(a[0]) }),
	"rmdir":  silent(func(a []string) error { return unix.Rmdir(a[0]) }),
	"rename": silent(func(a []string) error { return unix.Rename(a[0], a[1]) }),
	"rename-undo": silent(func(a []string) error {
		must(unix.Rename(a[0], a[1]))
		return unix.Rename(a[1], a[0])
	}),
	"exchange": silent(func(a []string) error {
		return unix.Renameat2(unix.AT_FDCWD, a[0], unix.AT_FDCWD, a[1], unix.RENAME_EXCHANGE)
	}),
	"link": silent(func(a []string) error { return unix.Link(a[0], a[1]) }),
	"handle": silent(func(a []string) error {
		_, _, err := unix.NameToHandleAt(unix.AT_FDCWD, a[0], 0)
		return err
	}),
	"chdir-list": func(a []string) (string, error) {
		must(os.Chdir(a[0]))
		return "", Closing(unix.Open(".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0))
	},
	"chdir-read": silent(func(a []string) error {
		must(os.Chdir(a[0]))
		return Closing(unix.Open("file", unix.O_RDONLY|unix.O_CLOEXEC, 0))
	}),
	"path-read": silent(func(a []string) error { // beginning at a descriptor that opens nothing
		fd := get(unix.Open(filepath.Dir(a[0]), unix.O_PATH|unix.O_CLOEXEC, 0))
		return Closing(unix.Openat(fd, filepath.Base(a[0]), unix.O_RDONLY|unix.O_CLOEXEC, 0))
	}),
	"path-reopen": silent(func(a []string) error {
		fd := get(unix.Open(a[0], unix.O_PATH|unix.O_CLOEXEC, 0))
		return Closing(unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_RDONLY|unix.O_CLOEXEC, 0))
	}),
}

func attemptList(a []string) (string, error) {
	d, err := os.Open(a[0])
	if err != nil {
		return "", err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	sort.Strings(names)
	return strings.Join(names, " "), err
}

func attemptBind(a []string) error {
	fd := get(unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
	defer unix.Close(fd)
	// A path may be too long for a socket's address.
	must(os.Chdir(filepath.Dir(a[0])))
	return unix.Bind(fd, &unix.SockaddrUnix{Name: filepath.Base(a[0])})
}

// attemptTmpfile makes a file without a name and gives it one.
func attemptTmpfile(a []string) error {
	fd := get(unix.Open(filepath.Dir(a[0]), unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o644))
	defer unix.Close(fd)
	return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, a[0], unix.AT_SYMLINK_FOLLOW)
}

// verbsOnModes are attempts on modes, owners, times and attributes.
var verbsOnModes = map[string]func(args []string) (string, error){
	"chmod": silent(func(a []string) error { return unix.Chmod(a[0], 0o755) }),
	"touch": silent(func(a []string) error { return unix.UtimesNanoAt(unix.AT_FDCWD, a[0], nil, 0) }),
	"utimes": silent(func(a []string) error {
		return unix.UtimesNanoAt(unix.AT_FDCWD, a[0], []unix.Timespec{{}, {}}, 0)
	}),
	"chmod-fd": silent(func(a []string) error { return onFD(a[0], func(fd int) error { return unix.Fchmod(fd, 0o700) }) }),
	"futimes": silent(func(a []string) error {
		return onFD(a[0], func(fd int) error { return unix.Futimes(fd, []unix.Timeval{{}, {}}) })
	}),
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

func onFD(name string, f func(fd int) error) error { return onOpened(name, unix.O_RDONLY, f) }

// onOpened opens a file for as long as f runs.
func onOpened(name string, flags int, f func(fd int) error) error {
	fd, err := unix.Open(name, flags|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return f(fd)
}

func attemptCreates(a []string) (string, error) {
	for i := range Number(a[1]) {
		fd, err := unix.Open(strings.ReplaceAll(a[0], "#", strconv.Itoa(i)), unix.O_WRONLY|unix.O_CREAT, 0o644)
		if Closing(fd, err) == nil {
			return "a file", nil
		}
	}
	return "", nil
}
