package attacker

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// MediatedCallsTimed are calls that the supervisor carries out, in a directory that holds one file:
// see BenchmarkMediatedCall.
var MediatedCallsTimed = map[string]func(dir string) error{
	"open existing": func(dir string) error { return rawOpen(dir+"/file", unix.O_WRONLY) },
	"open relative": func(string) error { return rawOpen("file", unix.O_WRONLY|unix.O_CREAT) },
	"open, unlink": func(dir string) error {
		return errors.Join(rawOpen(dir+"/new", unix.O_RDWR|unix.O_CREAT|unix.O_EXCL), raw(unix.SYS_UNLINKAT, dir+"/new", 0))
	},
	"mkdir, rmdir": func(dir string) error { return rawMkdir(dir + "/") },
	// A tmpfs, where what is left is the price of asking.
	"mkdir, rmdir in shm": func(string) error { return rawMkdir(shmName) },
}

// raw makes a call without Go's scheduler, which would start another thread while the call
// takes.
func raw(call uintptr, name string, arg uintptr) error {
	p, err := unix.BytePtrFromString(name)
	if err != nil {
		return err
	}
	_, _, errno := unix.RawSyscall6(call, atFdcwd, uintptr(unsafe.Pointer(p)), arg, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

func rawMkdir(name string) error {
	return errors.Join(raw(unix.SYS_MKDIRAT, name+"-new", 0o755), raw(unix.SYS_UNLINKAT, name+"-new", unix.AT_REMOVEDIR))
}

func rawOpen(name string, flags uintptr) error {
	p, err := unix.BytePtrFromString(name)
	if err != nil {
		return err
	}
	fd, _, errno := unix.RawSyscall6(unix.SYS_OPENAT, atFdcwd, uintptr(unsafe.Pointer(p)), flags|unix.O_CLOEXEC, 0o644, 0, 0)
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

var shmName = fmt.Sprint("/dev/shm/mcp-jail-bench-", os.Getpid())

const atFdcwd = ^uintptr(-unix.AT_FDCWD - 1)

// attemptTimed makes a call so many times and answers how long that took, in
// nanoseconds.
func attemptTimed(a []string) (string, error) {
	runtime.LockOSThread()
	n, err := strconv.Atoi(a[1])
	if err == nil {
		err = unix.Chdir(a[2])
	}
	if err != nil {
		return "", err
	}
	begun := time.Now()
	for range n {
		if err := MediatedCallsTimed[a[0]](a[2]); err != nil {
			return "", err
		}
	}
	return strconv.FormatInt(time.Since(begun).Nanoseconds(), 10), nil
}
