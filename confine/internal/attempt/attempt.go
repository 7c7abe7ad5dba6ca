//go:build darwin || linux

package attempt

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Works is the outcome of a call that nothing refused. Other outcomes are the name of an errno
// ("EPERM"), "exit N" and "signal NAME" of a program, or a text.
const Works = "works"

// Make makes one attempt, and returns its outcome.
func Make(do string, args []string) string {
	a, ok := attempts[do]
	if !ok || len(args) < a.args {
		return fmt.Sprintf("no attempt %s with %d arguments", do, len(args))
	}
	return outcome(a.make(args))
}

func outcome(err error) string {
	var errno syscall.Errno
	var exit *exec.ExitError
	switch {
	case err == nil:
		return Works
	case errors.As(err, &exit):
		status := exit.Sys().(syscall.WaitStatus)
		if status.Signaled() {
			return "signal " + unix.SignalName(status.Signal())
		}
		return "exit " + strconv.Itoa(status.ExitStatus())
	case errors.As(err, &errno):
		if name := unix.ErrnoName(errno); name != "" {
			return name
		}
		return "errno " + strconv.Itoa(int(errno))
	}
	return err.Error()
}

type kind struct {
	args int // at least
	make func(args []string) error
}

// on returns an attempt with one path.
func on(call func(path string) error) kind {
	return kind{1, func(args []string) error { return call(args[0]) }}
}

// between returns an attempt with two paths.
func between(call func(from, to string) error) kind {
	return kind{2, func(args []string) error { return call(args[0], args[1]) }}
}

var attempts = map[string]kind{
	"read":     on(read),
	"list":     on(list),
	"stat":     on(func(p string) error { var st unix.Stat_t; return unix.Lstat(p, &st) }),
	"readlink": on(func(p string) error { _, err := unix.Readlink(p, make([]byte, 100)); return err }),
	"getcwd":   on(getcwd),

	"write":    on(func(p string) error { return write(p, unix.O_WRONLY) }),
	"append":   on(func(p string) error { return write(p, unix.O_WRONLY|unix.O_APPEND) }),
	"create":   on(func(p string) error { return write(p, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL) }),
	"truncate": on(func(p string) error { return unix.Truncate(p, 1) }),
	"unlink":   on(unix.Unlink),
	"mkdir":    on(func(p string) error { return unix.Mkdir(p, 0o700) }),
	"rmdir":    on(unix.Rmdir),
	"chmod":    on(func(p string) error { return unix.Chmod(p, 0o640) }),
	"setuid":   on(func(p string) error { return unix.Chmod(p, 0o4700) }),
	"utimes":   on(func(p string) error { return unix.Utimes(p, make([]unix.Timeval, 2)) }),
	"setxattr": on(func(p string) error { return unix.Setxattr(p, "user.mcp-jail", []byte("x"), 0) }),
	"chflags":  on(chflags),
	"rename":   between(unix.Rename),
	"swap":     between(swap),
	"link":     between(unix.Link),
	"symlink":  between(unix.Symlink),
	"clone":    between(clone),
	"movenew":  between(moveNew),
	"map":      on(mapCode),

	"exec": {1, run},

	"tcp":      on(func(to string) error { return connect(unix.SOCK_STREAM, to, false) }),
	"tcpname":  on(connectName),
	"boundtcp": on(func(to string) error { return connect(unix.SOCK_STREAM, to, true) }),
	"udp":      on(func(to string) error { return connect(unix.SOCK_DGRAM, to, false) }),
	"unix":     on(connectUnix),
	"bindunix": on(bindUnix),

	"kill":      on(probeProcess),
	"killchild": {1, killChild},
	"procargs":  on(procargs),

	"fsize":  on(fileSizeLimit),
	"nofile": {0, func([]string) error { return descriptorLimit() }},
}

func read(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	n, err := unix.Read(fd, make([]byte, 1))
	if err == nil && n == 0 {
		return errors.New("nothing could be read")
	}
	return err
}

func list(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err == nil && len(names) == 0 {
		return errors.New("no names were listed")
	}
	return err
}

func getcwd(dir string) error {
	old, err := os.Open(".")
	if err != nil {
		return err
	}
	defer old.Close()
	if err := unix.Chdir(dir); err != nil {
		return err
	}
	defer old.Chdir()
	got, err := syscall.Getwd()
	if err == nil && got != dir {
		return fmt.Errorf("it is %s", got)
	}
	return err
}

func write(path string, flag int) error {
	fd, err := unix.Open(path, flag|unix.O_CLOEXEC|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte("x"))
	return err
}

// moveNew makes a directory and moves it to a name that it could not have been made with. Only the
// errno of the move is one that a probe can want.
func moveNew(dir, to string) error {
	if err := unix.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("the directory could not be made: %s", outcome(err))
	}
	return unix.Rename(dir, to)
}

func mapCode(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("the file could not be opened: %s", outcome(err))
	}
	defer f.Close()
	m, err := unix.Mmap(int(f.Fd()), 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
	if err == nil {
		unix.Munmap(m)
	}
	return err
}

// run executes a program with nothing of this process but its place.
func run(args []string) error {
	c := exec.Command(args[0], args[1:]...)
	c.Env = []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin"}
	err := c.Run()
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s does not exist", args[0])
	}
	return err
}
