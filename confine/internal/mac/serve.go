//go:build darwin || linux

package mac

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// role is the one argument of a program that is to make attempts.
const role = "mcp-jail: probe"

// Serve makes attempts and exits, if this process was started for that. It reads the list of them from its
// standard input, and writes the list of their outcomes.
func Serve() {
	if len(os.Args) != 2 || os.Args[1] != role {
		return
	}
	var list []attempt
	if json.NewDecoder(os.Stdin).Decode(&list) != nil {
		os.Exit(2)
	}
	outcomes := make([]string, len(list))
	for i, a := range list {
		outcomes[i] = a.outcome()
	}
	if json.NewEncoder(os.Stdout).Encode(outcomes) != nil {
		os.Exit(2)
	}
	os.Exit(0)
}

// works is the outcome of an attempt that nothing refused. Others are the name of an errno, or a text.
const works = "works"

func (a attempt) outcome() string {
	call, known := calls[a.Do]
	if !known || len(a.Args) == 0 {
		return "there is no such attempt"
	}
	err := call(append(a.Args, ""))
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return unix.ErrnoName(errno)
	} else if err != nil {
		return err.Error()
	}
	return works
}

func on(call func(path string) error) func([]string) error {
	return func(args []string) error { return call(args[0]) }
}

func between(call func(from, to string) error) func([]string) error {
	return func(args []string) error { return call(args[0], args[1]) }
}

// calls are what an attempt can do. The last argument is "".
var calls = map[string]func(args []string) error{
	"read":      on(read),
	"list":      on(func(p string) error { _, err := os.ReadDir(p); return err }),
	"write":     on(func(p string) error { return open(p, unix.O_WRONLY) }),
	"create":    on(func(p string) error { return open(p, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL) }),
	"unlink":    on(unix.Unlink),
	"mkdir":     on(func(p string) error { return unix.Mkdir(p, 0o700) }),
	"rmdir":     on(unix.Rmdir),
	"chmod":     on(func(p string) error { return unix.Chmod(p, 0o640) }),
	"setuid":    on(func(p string) error { return unix.Chmod(p, 0o4700) }),
	"rename":    between(unix.Rename),
	"swap":      between(swap),
	"link":      between(unix.Link),
	"symlink":   between(unix.Symlink),
	"clone":     between(clone),
	"movenew":   between(moveNew),
	"exec":      run,
	"tcp":       on(func(to string) error { return connect(unix.SOCK_STREAM, to, false) }),
	"boundtcp":  on(func(to string) error { return connect(unix.SOCK_STREAM, to, true) }),
	"udp":       on(func(to string) error { return connect(unix.SOCK_DGRAM, to, false) }),
	"unix":      on(func(p string) error { return socket(p, unix.Connect) }),
	"bindunix":  on(func(p string) error { return socket(p, unix.Bind) }),
	"kill":      on(probeProcess),
	"killchild": killChild,
	"procargs":  on(procargs),
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

func open(path string, flag int) error {
	fd, err := unix.Open(path, flag|unix.O_CLOEXEC|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte("x"))
	return err
}

// moveNew makes a directory and moves it to a name that it could not have been made with. Only the errno of
// the move is one that a probe can want.
func moveNew(dir, to string) error {
	if err := unix.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("the directory could not be made: %v", err)
	}
	return unix.Rename(dir, to)
}

// run executes a program with nothing of this process but its place.
func run(args []string) error {
	c := exec.Command(args[0], args[1:len(args)-1]...)
	c.Env = []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin"}
	return c.Run()
}

// connect asks for a connection, and does not wait for the other end: a refusal by the jail comes at once.
// That the other end refuses it shows that the system lets the call through.
func connect(kind int, to string, bind bool) error {
	addr, err := netip.ParseAddrPort(to)
	if err != nil {
		return errors.New("no address is named")
	}
	sockaddr := func(a netip.AddrPort) unix.Sockaddr {
		if a.Addr().Is4() {
			return &unix.SockaddrInet4{Addr: a.Addr().As4(), Port: int(a.Port())}
		}
		return &unix.SockaddrInet6{Addr: a.Addr().As16(), Port: int(a.Port())}
	}
	family, any := unix.AF_INET, netip.IPv4Unspecified()
	if addr.Addr().Is6() {
		family, any = unix.AF_INET6, netip.IPv6Unspecified()
	}
	fd, err := unix.Socket(family, kind, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.SetNonblock(fd, true); err != nil {
		return err
	}
	if bind {
		if err := unix.Bind(fd, sockaddr(netip.AddrPortFrom(any, 0))); err != nil {
			return err
		}
	}
	if err = unix.Connect(fd, sockaddr(addr)); err == nil && kind == unix.SOCK_DGRAM {
		_, err = unix.Write(fd, []byte("x"))
	}
	switch err {
	case unix.EINPROGRESS, unix.ECONNREFUSED, unix.EHOSTUNREACH, unix.ENETUNREACH, unix.EADDRNOTAVAIL:
		return nil // it is the network that says so
	}
	return err
}

func socket(path string, call func(int, unix.Sockaddr) error) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return call(fd, &unix.SockaddrUnix{Name: path})
}

// probeProcess asks whether a signal could be sent.
func probeProcess(pid string) error {
	n, err := strconv.Atoi(pid)
	if err != nil || n <= 0 {
		return errors.New("no process is named")
	}
	return unix.Kill(n, 0)
}

// killChild ends a program that it has started.
func killChild(args []string) error {
	c := exec.Command(args[0], args[1:len(args)-1]...)
	if err := c.Start(); err != nil {
		return err
	}
	err := unix.Kill(c.Process.Pid, unix.SIGKILL)
	if err != nil {
		c.Process.Kill()
	}
	c.Wait()
	return err
}

// ownAddress returns an address of this machine that is not the loopback. Nothing listens there, which a jail
// must not let a program find out. Where there is none, the address is one of no network, to which there is
// no way then.
func ownAddress() string {
	list, _ := net.InterfaceAddrs()
	for _, a := range list {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() && !n.IP.IsLoopback() {
			addr, _ := netip.AddrFromSlice(n.IP)
			return netip.AddrPortFrom(addr.Unmap(), 9).String()
		}
	}
	return "192.0.2.1:9"
}
