package attacker

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// callsMustPass makes calls that do not depend on those that wait, in a directory that holds old:
// two that the supervisor carries out and two that it only observes.
func callsMustPass(dir string, i int) error {
	name := fmt.Sprint(dir, "/made", i)
	for _, call := range []func() error{
		func() error { return unix.Mkdir(name, 0o755) },
		func() error { return unix.Rename(name, name+"-moved") },
		func() error { return unix.Rmdir(name + "-moved") },
		func() error { return Closing(unix.Open(dir+"/old", unix.O_WRONLY|unix.O_CLOEXEC, 0)) },
		func() error { return exec.Command("/usr/bin/true").Run() },
		func() error {
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return nil // without namespaces there is none
			}
			defer unix.Close(fd)
			if err = unix.Connect(fd, &unix.SockaddrUnix{Name: "/none"}); err == unix.ENOENT || err == unix.EACCES {
				err = nil
			}
			return err
		},
	} {
		if err := call(); err != nil {
			return err
		}
	}
	return nil
}

// attemptBlockedOpens opens every file of a[0]/held for writing, each in a thread of its own. When
// the host says that all of them wait, it makes other calls and tells the host. It answers how
// many of the opens returned after that.
func attemptBlockedOpens(a []string) (string, error) {
	held := get(filepath.Glob(a[0] + "/held/*"))
	ends := make(chan error, len(held))
	for _, name := range held {
		go func() { ends <- Closing(unix.Open(name, unix.O_WRONLY|unix.O_CLOEXEC, 0)) }()
	}
	must(attemptAwait([]string{a[0] + "/wait"}))
	must(callsMustPass(a[0], 0))
	if len(ends) != 0 {
		return "they did not wait", nil
	}
	must(os.WriteFile(a[0]+"/passed", nil, 0o644))
	for range held {
		must(<-ends)
	}
	return fmt.Sprint(len(held)), nil
}

// attemptSwappedOpens opens a name for writing repeatedly, at which the host puts a fifo now and
// then, and makes other calls meanwhile. A thread that opens the fifo waits forever.
func attemptSwappedOpens(a []string) (string, error) {
	stop := make(chan struct{})
	defer close(stop)
	for range 5 {
		go func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				Closing(unix.Open(a[0]+"/swapped", unix.O_WRONLY|unix.O_CLOEXEC, 0))
			}
		}()
	}
	for i := range 200 {
		must(callsMustPass(a[0], i))
	}
	return "passed", nil
}

// exchanged are ways to write to the object at a name.
var exchanged = map[string]func(name string) error{
	"open":     func(name string) error { return rawOpen(name, unix.O_WRONLY) },
	"creat":    func(name string) error { return rawOpen(name, unix.O_WRONLY|unix.O_CREAT) },
	"trunc":    func(name string) error { return rawOpen(name, unix.O_RDONLY|unix.O_TRUNC) },
	"truncate": func(name string) error { return rawTruncate(name) },
}

// attemptRaceExchange opens a name in the way a[1] while another thread repeatedly exchanges the
// file there with a directory.
func attemptRaceExchange(a []string) (string, error) {
	name, other := a[0]+"/drop/name", a[0]+"/drop/other"
	made := false
	return race(func(int) {
		unix.Renameat2(unix.AT_FDCWD, name, unix.AT_FDCWD, other, unix.RENAME_EXCHANGE)
	}, func() { made = made || exchanged[a[1]](name) == nil }, func() bool { return made })
}

// attemptOpenOften opens a[0] for writing many times, and returns the first error.
func attemptOpenOften(a []string) (string, error) {
	for range 4000 {
		if err := Closing(unix.Open(a[0], unix.O_WRONLY|unix.O_CLOEXEC, 0)); err != nil {
			return "", err
		}
	}
	return "", nil
}

// rawTruncate makes truncate as rawOpen does. Its name is the first argument.
func rawTruncate(name string) error {
	p, err := unix.BytePtrFromString(name)
	if err != nil {
		return err
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_TRUNCATE, uintptr(unsafe.Pointer(p)), 0, 0); errno != 0 {
		return errno
	}
	return nil
}

func attemptFifoAnew(a []string) error {
	return onOpened(a[0], unix.O_RDONLY|unix.O_NONBLOCK, func(fd int) error {
		return Closing(unix.Open(fmt.Sprint("/proc/self/fd/", fd), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0))
	})
}
