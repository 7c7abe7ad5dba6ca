package attacker

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fileVerbs are attempts to find, read, change and execute files that are not granted.
func fileVerbs() map[string]func([]string) (string, error) {
	return map[string]func([]string) (string, error){
		// Looking.
		"access": silent(func(a []string) error { return unix.Access(a[0], unix.F_OK) }),
		"statx": silent(func(a []string) error {
			return unix.Statx(unix.AT_FDCWD, a[0], unix.AT_SYMLINK_NOFOLLOW, unix.STATX_ALL, &unix.Statx_t{})
		}),
		"statfs":   silent(func(a []string) error { return unix.Statfs(a[0], &unix.Statfs_t{}) }),
		"chdir":    silent(func(a []string) error { return unix.Chdir(a[0]) }),
		"readlink": func(a []string) (string, error) { return os.Readlink(a[0]) },
		"opath":    silent(func(a []string) error { return Closing(unix.Open(a[0], unix.O_PATH|unix.O_CLOEXEC, 0)) }),
		"watch":    silent(attemptWatch),
		"dnotify":  silent(attemptDnotify),
		"xattrs":   silent(func(a []string) error { _, err := unix.Llistxattr(a[0], nil); return err }),
		// Reading in other ways.
		"read-dotdot":  attemptReadDotdot,
		"read-opath":   attemptReadOpath,
		"read-mapped":  attemptReadMapped,
		"read-from":    attemptReadFrom,
		"read-linked":  attemptLinked(unix.Link),
		"read-symlink": attemptLinked(unix.Symlink),
		"read-swapped": attemptReadSwapped,
		"read-moved":   attemptReadMoved,
		"read-handle":  attemptReadHandle,
		"read-uring":   attemptReadUring,
		// Changing.
		"give-away":      silent(func(a []string) error { return unix.Lchown(a[0], Number(a[1]), Number(a[1])) }),
		"setxattr":       silent(func(a []string) error { return unix.Lsetxattr(a[0], a[1], []byte("x"), 0) }),
		"setcap":         silent(SetCapability),
		"reopen":         silent(attemptReopen),
		"rewrite-opened": silent(attemptRewriteOpened),
		"locked":         silent(attemptLocked),
		"write-mapped":   silent(attemptWriteMapped),
		"whiteout": silent(func(a []string) error {
			return unix.Renameat2(unix.AT_FDCWD, a[0], unix.AT_FDCWD, a[1], unix.RENAME_WHITEOUT)
		}),
		"swap-dir":       silent(attemptSwapDir),
		"repository":     silent(attemptRepository),
		"litter":         silent(attemptLitter),
		"litter-dir":     silent(attemptLitterDir),
		"mkdirs":         silent(func(a []string) error { return os.MkdirAll(a[0], 0o755) }),
		"create-renamed": silent(attemptCreateRenamed),
		"create-linked":  silent(attemptCreateLinked),
		"create-within":  silent(attemptCreateWithin),
		// Starting.
		"execat":  silent(attemptExecAt),
		"ld.so":   silent(attemptLoader),
		"id-file": silent(attemptSetIDFile),
		"mkdev":   silent(func(a []string) error { return unix.Mknod(a[0], unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))) }),
		"mkblk":   silent(func(a []string) error { return unix.Mknod(a[0], unix.S_IFBLK|0o666, int(unix.Mkdev(7, 0))) }),
	}
}

func attemptReopen(a []string) error {
	return onFD(a[0], func(fd int) error {
		return Closing(unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_RDWR|unix.O_CLOEXEC, 0))
	})
}

func attemptRewriteOpened(a []string) error {
	return onFD(a[0], func(fd int) error {
		return os.WriteFile(fmt.Sprintf("/proc/self/fd/%d", fd), []byte("other"), 0)
	})
}

// attemptLocked locks a file, by a second open file too: that one fails while the first holds the lock.
func attemptLocked(a []string) (err error) {
	var fds [2]int
	for i := range fds {
		if fds[i], err = unix.Open(a[0], unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
			return err
		}
		defer unix.Close(fds[i])
		if err = unix.Flock(fds[i], unix.LOCK_EX|unix.LOCK_NB); err != nil {
			break
		}
	}
	return err
}

func attemptWriteMapped(a []string) error {
	return onOpened(a[0], unix.O_RDWR, func(fd int) error {
		b, err := unix.Mmap(fd, 0, 1, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			return err
		}
		b[0]++
		return unix.Munmap(b)
	})
}

func attemptSwapDir(a []string) error {
	must(unix.Rename(a[0], a[0]+"-moved"))
	return unix.Mkdir(a[0], 0o755)
}

func attemptRepository(a []string) error {
	must(os.MkdirAll(filepath.Join(a[0], ".git/hooks"), 0o755))
	return os.WriteFile(filepath.Join(a[0], ".git/hooks/post-checkout"), []byte("#!/bin/sh\n"), 0o755)
}

// attemptLitter makes a file and removes it again, because a[0] is a place of the system.
func attemptLitter(a []string) error {
	err := Closing(unix.Open(a[0], unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o644))
	if err == nil {
		unix.Unlink(a[0])
	}
	return err
}

func attemptLitterDir(a []string) error {
	err := unix.Mkdir(a[0], 0o755)
	if err == nil {
		unix.Rmdir(a[0])
	}
	return err
}

func attemptCreateRenamed(a []string) error {
	must(os.WriteFile(a[0], nil, 0o644))
	return unix.Rename(a[0], a[1])
}

func attemptCreateLinked(a []string) error {
	must(os.WriteFile(a[0], nil, 0o644))
	return unix.Link(a[0], a[1])
}

// attemptCreateWithin makes a file relative to the descriptor of a directory.
func attemptCreateWithin(a []string) error {
	return onOpened(a[0], unix.O_PATH|unix.O_DIRECTORY, func(fd int) error {
		return Closing(unix.Openat(fd, a[1], unix.O_WRONLY|unix.O_CREAT|unix.O_CLOEXEC, 0o644))
	})
}

// SetCapability writes a file capability. A user who runs the file on the host gets it.
func SetCapability(a []string) error {
	// struct vfs_cap_data, revision 2, effective: CAP_SYS_ADMIN.
	data := []byte{1, 0, 0, 2, 0, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	return unix.Setxattr(a[0], "security.capability", data, 0)
}

func attemptExecAt(a []string) error {
	return onOpened(a[0], unix.O_PATH, func(fd int) error {
		argv, _ := syscall.SlicePtrFromStrings([]string{a[0]})
		empty, _ := unix.BytePtrFromString("")
		return inFork(unix.SYS_EXECVEAT, uintptr(fd), uintptr(unsafe.Pointer(empty)), uintptr(unsafe.Pointer(&argv[0])), 0, unix.AT_EMPTY_PATH)
	})
}

// inFork makes a call in a child with one thread. The Go runtime does not work in the child, so
// the child makes no other call, and it ends with its parent.
func inFork(nr uintptr, args ...uintptr) error {
	var a [5]uintptr
	copy(a[:], args)
	pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	if pid == 0 {
		syscall.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0, 0)
		_, _, errno = syscall.RawSyscall6(nr, a[0], a[1], a[2], a[3], a[4], 0)
		syscall.RawSyscall6(unix.SYS_EXIT_GROUP, uintptr(errno), 0, 0, 0, 0, 0)
	}
	var ws unix.WaitStatus
	for {
		if _, err := unix.Wait4(int(pid), &ws, 0, nil); err != unix.EINTR {
			break
		}
	}
	switch {
	case ws.Signaled():
		return emptyHanded(ws.Signal().String())
	case ws.ExitStatus() != 0:
		return syscall.Errno(ws.ExitStatus())
	}
	return nil
}

// attemptLoader starts a program by the dynamic loader, which only reads its file.
func attemptLoader(a []string) error {
	for _, loader := range []string{"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"} {
		if _, err := os.Stat(loader); err != nil {
			continue
		}
		out, err := exec.Command(loader, a[0]).CombinedOutput()
		if strings.Contains(string(out), "Permission denied") {
			return unix.EACCES
		}
		if strings.Contains(string(out), "No such file") {
			return unix.ENOENT
		}
		if strings.Contains(string(out), "not permitted") || strings.Contains(string(out), "failed to map") {
			return unix.EPERM
		}
		return err
	}
	return emptyHanded("no loader")
}

func attemptSetIDFile(a []string) error {
	p := a[0]
	switch a[1] {
	case "chmod":
		return unix.Chmod(p, 0o6755)
	case "fchmod":
		return onFD(p, func(fd int) error { return unix.Fchmod(fd, 0o6755) })
	case "fchmodat2":
		return unix.Fchmodat(unix.AT_FDCWD, p, 0o6755, unix.AT_SYMLINK_NOFOLLOW)
	case "open":
		unix.Umask(0)
		return Closing(unix.Open(p+"-new", unix.O_WRONLY|unix.O_CREAT|unix.O_CLOEXEC, 0o6755))
	case "mknod":
		return unix.Mknod(p+"-new", unix.S_IFREG|0o6755, 0)
	}
	fd, err := unix.Open(filepath.Dir(p), unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o6755)
	return Closing(fd, err)
}

// fcntl(2), F_NOTIFY.
const (
	dnModify    = 0x2
	dnMultishot = 0x80000000
)
