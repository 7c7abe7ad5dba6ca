package attacker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// NetworkVerbs are attempts to reach something by a socket.
func NetworkVerbs() map[string]func([]string) (string, error) {
	return map[string]func([]string) (string, error){
		"echo-udp":        silent(attemptEchoUDP),
		"echo-sendto":     silent(attemptEchoSendto),
		"send-descriptor": silent(attemptSendDescriptor),
		"short-names":     silent(func([]string) error { return attemptShortNames() }),
		"resolve":         silent(attemptResolve),
		"hung-up":         silent(attemptHungUp),
		"quic":            silent(attemptQuic),
		"fast-open":       silent(attemptFastOpen),
		"fast-connect":    silent(attemptFastConnect),
		"mptcp": silent(func(a []string) error {
			return connectVia(a[0], unix.SOCK_STREAM, unix.IPPROTO_MPTCP)
		}),
		"sctp":    silent(func(a []string) error { return connectVia(a[0], unix.SOCK_STREAM, unix.IPPROTO_SCTP) }),
		"dccp":    silent(func(a []string) error { return connectVia(a[0], unix.SOCK_DCCP, unix.IPPROTO_DCCP) }),
		"udplite": silent(func(a []string) error { return connectVia(a[0], unix.SOCK_DGRAM, unix.IPPROTO_UDPLITE) }),
		"ping":    silent(func(a []string) error { return connectVia(a[0], unix.SOCK_DGRAM, unix.IPPROTO_ICMP) }),
		"raw-ip":  silent(func(a []string) error { return connectVia(a[0], unix.SOCK_RAW, unix.IPPROTO_ICMP) }),
		"smc": silent(func(a []string) error {
			return Closing(unix.Socket(unix.AF_SMC, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
		}),
		"family":          silent(attemptFamily),
		"vsock":           silent(attemptVsock),
		"interfaces":      attemptInterfaces,
		"addresses":       attemptAddresses,
		"connections":     attemptConnections,
		"raise-lo":        silent(attemptRaiseLo),
		"unix":            silent(func(a []string) error { return connectUnix(unix.SOCK_STREAM, a[0]) }),
		"unix-dgram":      silent(attemptUnixDgram),
		"unix-linked":     silent(attemptUnixLinked),
		"unix-symlinked":  silent(attemptUnixSymlinked),
		"unix-fd":         silent(attemptUnixFd),
		"take-descriptor": attemptTakeDescriptor,
	}
}

func attemptEchoUDP(a []string) error {
	c := get(net.Dial("udp", a[0]))
	defer c.Close()
	get(c.Write([]byte("x")))
	return answered(c)
}

// attemptEchoSendto asks a[0] by a UDP socket that is not connected.
func attemptEchoSendto(a []string) error {
	to := get(net.ResolveUDPAddr("udp", a[0]))
	c := get(net.ListenPacket("udp", ":0"))
	defer c.Close()
	get(c.WriteTo([]byte("x"), to))
	return answered(c.(*net.UDPConn))
}

func attemptSendDescriptor(a []string) error {
	to := net.UDPAddrFromAddrPort(netip.MustParseAddrPort(a[0]))
	c, err := net.ListenUDP("udp4", nil)
	if err != nil {
		return err
	}
	defer c.Close()
	_, _, err = c.WriteMsgUDP([]byte("x"), unix.UnixRights(0), to)
	return err
}

func attemptResolve(a []string) error {
	c := get(net.Dial("udp", a[0]))
	defer c.Close()
	query := "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x06secret\x07example\x00\x00\x01\x00\x01"
	get(c.Write([]byte(query)))
	return answered(c)
}

// attemptHungUp connects to a[0], which hangs up at once. The jail's own resolver waits for a question.
func attemptHungUp(a []string) error {
	c := get(net.Dial("tcp", a[0]))
	defer c.Close()
	if err := answered(c); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

func attemptQuic(a []string) error {
	c := get(net.Dial("udp", a[0]))
	defer c.Close()
	get(c.Write(append([]byte{0xc3, 0, 0, 0, 1, 8}, make([]byte, 1194)...)))
	return answered(c)
}

// attemptFamily makes a socket of the family a[0], of any type that the family has.
func attemptFamily(a []string) error {
	last := error(unix.EAFNOSUPPORT)
	for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_RAW, unix.SOCK_SEQPACKET} {
		err := Closing(unix.Socket(Number(a[0]), kind|unix.SOCK_CLOEXEC, Number(a[1])))
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.ESOCKTNOSUPPORT) && !errors.Is(err, unix.EPROTONOSUPPORT) {
			last = err
		}
	}
	return last
}

func attemptVsock(a []string) error {
	fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	return Closing(fd, err)
}

func attemptInterfaces([]string) (string, error) {
	list := get(net.Interfaces())
	var names []string
	for _, i := range list {
		if i.Name != "lo" {
			names = append(names, i.Name)
		}
	}
	return strings.Join(names, " "), nothingIf(names == nil)
}

func attemptAddresses(a []string) (string, error) {
	list := get(net.InterfaceAddrs())
	host, _, _ := net.SplitHostPort(a[0])
	for _, addr := range list {
		if strings.HasPrefix(addr.String(), host+"/") {
			return addr.String(), nil
		}
	}
	return "", emptyHanded("nothing")
}

func attemptConnections(a []string) (string, error) {
	b := get(os.ReadFile("/proc/self/net/" + a[0]))
	return "", nothingIf(!strings.Contains(string(b), a[1]))
}

func attemptRaiseLo(a []string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}

func attemptUnixDgram(a []string) error {
	fd := get(unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0))
	defer unix.Close(fd)
	return unix.Sendto(fd, []byte("x"), 0, &unix.SockaddrUnix{Name: a[0]})
}

// attemptUnixLinked connects to a UNIX socket by a hard link a[1] to it.
func attemptUnixLinked(a []string) error {
	must(unix.Link(a[0], a[1]))
	return connectUnix(unix.SOCK_STREAM, a[1])
}

// attemptUnixSymlinked connects to a UNIX socket by a symbolic link a[1] to it.
func attemptUnixSymlinked(a []string) error {
	must(unix.Symlink(a[0], a[1]))
	return connectUnix(unix.SOCK_STREAM, a[1])
}

// attemptUnixFd connects to a UNIX socket relative to the descriptor of its directory.
func attemptUnixFd(a []string) error {
	dir, base := a[0][:strings.LastIndexByte(a[0], '/')], a[0][strings.LastIndexByte(a[0], '/')+1:]
	fd := get(unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0))
	defer unix.Close(fd)
	must(unix.Fchdir(fd))
	return connectUnix(unix.SOCK_STREAM, base)
}

func answered(c net.Conn) error {
	c.SetReadDeadline(time.Now().Add(time.Second))
	_, err := c.Read(make([]byte, 2048))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return emptyHanded("no answer")
	}
	return err
}

func connectUnix(kind int, name string) error {
	fd, err := unix.Socket(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, &unix.SockaddrUnix{Name: name})
}

func address(s string) (family int, sa unix.Sockaddr, err error) {
	a, err := net.ResolveTCPAddr("tcp", s)
	if err != nil {
		return 0, nil, err
	}
	if ip := a.IP.To4(); ip != nil {
		return unix.AF_INET, &unix.SockaddrInet4{Port: a.Port, Addr: [4]byte(ip)}, nil
	}
	return unix.AF_INET6, &unix.SockaddrInet6{Port: a.Port, Addr: [16]byte(a.IP.To16())}, nil
}

func withSocket(to string, kind, proto int, f func(fd int, sa unix.Sockaddr) error) error {
	family, sa, err := address(to)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, proto)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return f(fd, sa)
}

func connectVia(to string, kind, proto int) error {
	return withSocket(to, kind, proto, unix.Connect)
}

// attemptFastOpen connects by sending (TCP Fast Open, RFC 7413).
func attemptFastOpen(a []string) error {
	return withSocket(a[0], unix.SOCK_STREAM, 0, func(fd int, sa unix.Sockaddr) (err error) {
		switch a[1] {
		case "sendmsg":
			_, err = unix.SendmsgN(fd, []byte("x"), nil, sa, unix.MSG_FASTOPEN)
		default:
			err = unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN, sa)
		}
		return err
	})
}

func attemptFastConnect(a []string) error {
	return withSocket(a[0], unix.SOCK_STREAM, 0, func(fd int, sa unix.Sockaddr) error {
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_FASTOPEN_CONNECT, 1); err != nil {
			return err
		}
		if err := unix.Connect(fd, sa); err != nil {
			return err
		}
		if _, err := unix.Write(fd, []byte("x")); err != nil {
			return err
		}
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		unix.Poll(fds, 2000)
		n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
		if err == nil && n != 0 {
			return syscall.Errno(n)
		}
		return err
	})
}

// attemptTakeDescriptor receives a descriptor from a process of the host over a socket
// (SCM_RIGHTS) and reads from it.
func attemptTakeDescriptor(a []string) (string, error) {
	fd := get(unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
	defer unix.Close(fd)
	must(unix.Connect(fd, &unix.SockaddrUnix{Name: a[0]}))
	b, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(fd, b, rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return "", err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) == 0 {
		return "", emptyHanded("nothing")
	}
	fds := get(unix.ParseUnixRights(&messages[0]))
	return readAndClose(fds[0])
}

// attemptShortNames gives calls addresses of invalid length. The calls must fail with EINVAL, also
// if the supervisor answers them.
func attemptShortNames() error {
	name := make([]byte, unix.SizeofSockaddrAny)
	for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
		for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM} {
			fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			binary.NativeEndian.PutUint16(name, uint16(family))
			for _, call := range []uintptr{unix.SYS_BIND, unix.SYS_CONNECT} {
				for _, size := range []int{-1, 0, 1, 4, 1 << 20} {
					_, _, errno := unix.Syscall(call, uintptr(fd), uintptr(unsafe.Pointer(&name[0])), uintptr(size))
					if errno != unix.EINVAL {
						return fmt.Errorf("family %d, kind %d, call %d, %d bytes: %w", family, kind, call, size, errno)
					}
				}
			}
		}
	}
	return nil
}
