package attacker

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// verbsOnShared are attempts on resources that the kernel counts per host or per user.
var verbsOnShared = map[string]func(args []string) (string, error){
	"lease": silent(func(a []string) error { // of a file that is open for reading
		return onFD(a[0], func(fd int) error {
			_, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK)
			return err
		})
	}),
	"lease-of": func(a []string) (string, error) {
		var kind int
		err := onFD(a[0], func(fd int) (err error) {
			kind, err = unix.FcntlInt(uintptr(fd), unix.F_GETLEASE, 0)
			return err
		})
		return fmt.Sprint(kind), err
	},
	"io-contexts": silent(func(a []string) error { // until the end of the process
		var context uintptr
		return RawErr(unix.SYS_IO_SETUP, uintptr(Number(a[0])), uintptr(unsafe.Pointer(&context)))
	}),
	"mqmake": silent(func(a []string) error {
		fd, err := MqOpen(a[0], unix.O_RDONLY|unix.O_CREAT|unix.O_EXCL)
		if err == nil {
			MqUnlink(a[0])
		}
		return Closing(fd, err)
	}),
	"terminals": func(a []string) (string, error) { // opens so many, and says how many it got
		for n := range Number(a[0]) {
			if _, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0); err != nil {
				return "", emptyHanded(fmt.Sprint(n, " ", unix.ErrnoName(err.(unix.Errno))))
			}
		}
		return "", nil
	},
	"timers": func(a []string) (string, error) { // makes so many, and says how many it got
		for n := range Number(a[0]) {
			var id int32
			if err := RawErr(unix.SYS_TIMER_CREATE, unix.CLOCK_MONOTONIC, 0, uintptr(unsafe.Pointer(&id))); err != nil {
				return "", emptyHanded(fmt.Sprint(n, " ", unix.ErrnoName(err.(unix.Errno))))
			}
		}
		return "", nil
	},
	"xattr-value": func(a []string) (string, error) { // the value of one
		b := make([]byte, 64)
		n, err := unix.Getxattr(a[0], a[1], b)
		return string(b[:max(n, 0)]), err
	},
	"xattr-of-link": func(a []string) (string, error) {
		b := make([]byte, 64)
		n, err := unix.Lgetxattr(a[0], a[1], b)
		return string(b[:max(n, 0)]), err
	},
	"xattr-names": func(a []string) (string, error) {
		b := make([]byte, 64)
		n, err := unix.Listxattr(a[0], b)
		return fmt.Sprintf("%q", b[:max(n, 0)]), err
	},
	"xattr-at": func(a []string) (string, error) { // getxattrat, of Linux 6.13
		name := get(unix.BytePtrFromString(a[0]))
		attribute := get(unix.BytePtrFromString(a[1]))
		b := make([]byte, 64)
		args := struct {
			value       uintptr
			size, flags uint32
		}{uintptr(unsafe.Pointer(&b[0])), uint32(len(b)), 0}
		at := unix.AT_FDCWD
		n, _, errno := unix.Syscall6(464, uintptr(at), uintptr(unsafe.Pointer(name)), 0, uintptr(unsafe.Pointer(attribute)), uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args))
		if errno != 0 {
			return "", errno
		}
		return string(b[:n]), nil
	},
}
