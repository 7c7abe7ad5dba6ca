package attacker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"golang.org/x/sys/unix"
)

func socketVerbs() map[string]func([]string) (string, error) {
	return map[string]func([]string) (string, error){
		"race":       attemptRace,
		"handed-on":  attemptHandedOn,
		"interrupt":  attemptInterrupt,
		"packet":     silent(attemptPacket),
		"datagrams":  attemptDatagrams,
		"nonblock":   attemptNonblock,
		"after-init": silent(attemptAfterInit),
		"option": silent(func(a []string) error { // family, level, name, bytes
			fd := get(unix.Socket(Number(a[0]), unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
			defer unix.Close(fd)
			return unix.SetsockoptString(fd, Number(a[1]), Number(a[2]), string(make([]byte, Number(a[3]))))
		}),
		"source-route": silent(func(a []string) error { // by a[0], to wherever
			fd := get(unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
			defer unix.Close(fd)
			hop := netip.MustParseAddr(a[0]).As4()
			const loose, end = 131, 0
			return unix.SetsockoptString(fd, unix.IPPROTO_IP, unix.IP_OPTIONS, string(append(append([]byte{loose, 7, 4}, hop[:]...), end)))
		}),
		"listens": silent(func([]string) error { // without bind
			fd := get(unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
			defer unix.Close(fd)
			return unix.Listen(fd, 1)
		}),
	}
}

func greeting(fd int) string {
	limit := unix.NsecToTimeval(int64(5 * time.Second))
	unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit)
	var b [256]byte
	n, err := unix.Read(fd, b[:])
	for err == unix.EINTR {
		n, err = unix.Read(fd, b[:])
	}
	if err != nil || n == 0 {
		return ""
	}
	return string(bytes.TrimSpace(b[:n]))
}

// attemptRace connects a[2] times while another thread changes the address in memory between a[0]
// and a[1], and counts the answers. It goes on for some time if the other thread had few turns,
// or if it saw fewer than a[3] different outcomes.
func attemptRace(a []string) (string, error) {
	word := func(s string) uint64 { return binary.NativeEndian.Uint64(sys.Sockaddr(netip.MustParseAddrPort(s))) }
	good, bad := word(a[0]), word(a[1])
	memory := new([2]uint64)
	memory[0] = good
	moves, stop := turns(func(int) {
		atomic.StoreUint64(&memory[0], bad)
		atomic.StoreUint64(&memory[0], good)
	})
	defer stop()
	counts := map[string]int{}
	least, outcomes := Number(a[2]), Number(a[3])
	for attempts, met := 0, 0; attempts < least || (met < least/10 || len(counts) < outcomes) && attempts < 20*least; attempts++ {
		before := moves.Load()
		fd := get(unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
		_, _, errno := unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(memory)), 16)
		switch {
		case errno == 0:
			counts[greeting(fd)]++
		default:
			counts[unix.ErrnoName(errno)]++
		}
		unix.Close(fd)
		if moves.Load() != before {
			met++
		}
	}
	runtime.KeepAlive(memory)
	return fmt.Sprint(counts), nil
}

// attemptHandedOn connects a socket to a[0] that came by dup, by fork, or through a pair.
func attemptHandedOn(a []string) (string, error) {
	to := netip.MustParseAddrPort(a[0])
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	switch a[1] {
	case "dup":
		if fd, err = unix.Dup(fd); err != nil {
			return "", err
		}
	case "pair":
		pair := get(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
		must(unix.Sendmsg(pair[0], []byte{0}, unix.UnixRights(fd), nil, 0))
		unix.Close(fd)
		rights := make([]byte, unix.CmsgSpace(4))
		_, n, _, _, err := unix.Recvmsg(pair[1], make([]byte, 1), rights, 0)
		if err != nil {
			return "", err
		}
		fds := get(sys.ParseRights(rights[:n]))
		fd = fds[0]
	case "child": // which connects what its parent made, and the parent reads
		cmd := exec.Command(Executable())
		cmd.Args = []string{Name, fmt.Sprintf(`[["handed-on", %q, "inherited"]]`, a[0])}
		cmd.ExtraFiles = []*os.File{os.NewFile(uintptr(fd), "socket")}
		if out, err := cmd.Output(); err != nil || string(out) != `["ok"]` {
			return "", fmt.Errorf("%s, %w", out, err)
		}
		return greeting(fd), nil
	case "inherited":
		return "", unix.Connect(3, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()})
	case "thread": // with descriptors of its own
		runtime.LockOSThread()
		must(unix.Unshare(unix.CLONE_FILES))
	}
	must(unix.Connect(fd, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}))
	return greeting(fd), nil
}

func attemptInterrupt(a []string) (string, error) {
	to := netip.MustParseAddrPort(a[0])
	every := unix.Itimerval{Interval: unix.Timeval{Usec: 100}, Value: unix.Timeval{Usec: 100}}
	get(unix.Setitimer(unix.ITIMER_REAL, every))
	defer unix.Setitimer(unix.ITIMER_REAL, unix.Itimerval{})
	counts := map[string]int{}
	for range Number(a[1]) {
		fd := get(unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
		if err := unix.Connect(fd, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}); err != nil {
			counts[err.Error()]++
		} else {
			counts[greeting(fd)]++
		}
		unix.Close(fd)
	}
	return fmt.Sprint(counts), nil
}

// attemptPacket sends one UDP packet to a[0] in the way a[1].
func attemptPacket(a []string) error {
	to := netip.MustParseAddrPort(a[0])
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	sa := &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}
	switch a[1] {
	case "sendto":
		return unix.Sendto(fd, []byte("x"), 0, sa)
	case "sendmsg":
		return unix.Sendmsg(fd, []byte("x"), nil, sa, 0)
	case "pktinfo": // by an interface of its choice
		out, err := net.InterfaceByIndex(Number(a[2]))
		if err != nil {
			out = &net.Interface{Index: Number(a[2])}
		}
		return unix.Sendmsg(fd, []byte("x"), unix.PktInfo4(&unix.Inet4Pktinfo{Ifindex: int32(out.Index)}), sa, 0)
	case "sendmmsg":
		name, payload := sys.Sockaddr(to), []byte("x")
		iov := unix.Iovec{Base: &payload[0], Len: 1}
		message := struct {
			unix.Msghdr
			n uint32
			_ uint32
		}{Msghdr: unix.Msghdr{Name: &name[0], Namelen: uint32(len(name)), Iov: &iov, Iovlen: 1}}
		_, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(&message)), 1, 0, 0, 0)
		runtime.KeepAlive(name)
		return NilIfZero(errno)
	}
	must(unix.Connect(fd, sa))
	get(unix.Write(fd, []byte("x")))
	time.Sleep(100 * time.Millisecond)
	_, err = unix.Write(fd, []byte("x")) // the first one's refusal shows now at the latest
	return err
}

func NilIfZero(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

func query(id byte, name string) []byte {
	q := []byte{id, id, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0}
	for _, label := range strings.Split(name, ".") {
		q = append(append(q, byte(len(label))), label...)
	}
	return append(q, 0, 0, 1, 0, 1)
}

// attemptDatagrams asks a[0] for the name a[1] in the ways of resolvers, and answers with the
// addresses that the answers come from.
func attemptDatagrams(a []string) (string, error) {
	server := netip.MustParseAddrPort(a[0])
	sa := &unix.SockaddrInet4{Port: int(server.Port()), Addr: server.Addr().As4()}
	var said []string
	for i, way := range []string{"connected", "sendto", "bound"} {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return "", err
		}
		defer unix.Close(fd)
		q := query(byte(i), a[1])
		switch way {
		case "connected":
			if err = unix.Connect(fd, sa); err == nil {
				_, err = unix.Write(fd, q)
			}
		case "bound":
			if err = unix.Bind(fd, &unix.SockaddrInet4{}); err != nil {
				return "", err
			}
			fallthrough
		default:
			err = unix.Sendto(fd, q, 0, sa)
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", way, err)
		}
		b := make([]byte, 512)
		var n int
		var from unix.Sockaddr
		if way == "bound" { // as musl does
			n, _, _, from, err = unix.Recvmsg(fd, b, nil, 0)
		} else {
			n, from, err = unix.Recvfrom(fd, b, 0) // waits
		}
		if err != nil || n < 12 || b[0] != byte(i) {
			return "", fmt.Errorf("%s: %d bytes, %w", way, n, err)
		}
		name, _ := sys.AddrPortOf(from, nil)
		if _, _, err := unix.Recvfrom(fd, b, unix.MSG_DONTWAIT); !errors.Is(err, unix.EAGAIN) {
			return "", fmt.Errorf("%s: a second answer: %w", way, err)
		}
		said = append(said, fmt.Sprintf("%s %v answers %d", way, name, b[7]))
	}
	return strings.Join(said, ", "), nil
}

// attemptNonblock connects to a[0] without waiting, and then connects twice more.
func attemptNonblock(a []string) (string, error) {
	to := netip.MustParseAddrPort(a[0])
	fd := get(unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0))
	defer unix.Close(fd)
	sa := &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}
	first := unix.Connect(fd, sa)
	unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, 5000)
	problem, _ := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	second, third := unix.Connect(fd, sa), unix.Connect(fd, sa)
	unix.SetNonblock(fd, false)
	return fmt.Sprintf("%s %d %s %s: %s", nameOfError(first), problem, nameOfError(second), nameOfError(third), greeting(fd)), nil
}

func nameOfError(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return unix.ErrnoName(errno)
	}
	return "ok"
}

func attemptAfterInit(a []string) error {
	if a[0] == "start" {
		cmd := exec.Command(Executable())
		cmd.Args = []string{Name, fmt.Sprintf(`[["after-init", "wait", %q]]`, a[1])}
		cmd.Stderr = os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		must(cmd.Start())
		time.Sleep(time.Hour)
	}
	to := netip.MustParseAddrPort(a[1])
	sa := &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}
	made := get(unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
	parent := os.Getppid()
	fmt.Fprintln(os.Stderr, "waits")
	for os.Getppid() == parent {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(100 * time.Millisecond) // the init goes after the program
	connected := unix.Connect(made, sa)
	_, another := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	sent := unix.Sendto(made, []byte("x"), unix.MSG_NOSIGNAL, sa)
	fmt.Fprintln(os.Stderr, "connect", nameOfError(connected), "socket", nameOfError(another), "sendto", nameOfError(sent))
	return nil
}
