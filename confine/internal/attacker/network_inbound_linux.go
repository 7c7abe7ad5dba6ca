package attacker

import (
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// callbackVerb listens like a program that waits for an OAuth callback, and ends after a[1]
// answers.
func callbackVerb(a []string) (string, error) {
	l := get(net.Listen("tcp", a[0]))
	fmt.Println("listening")
	var heard []string
	for range Number(a[1]) {
		c := get(l.Accept())
		b := get(io.ReadAll(c))
		io.WriteString(c, "heard "+string(b))
		c.Close()
		heard = append(heard, string(b))
	}
	return strings.Join(heard, " "), nil
}

// partingVerb answers a client with many bytes and ends before they have arrived.
func partingVerb(a []string) (string, error) {
	l, err := net.Listen("tcp", a[0])
	if err != nil {
		return "", err
	}
	fmt.Println("listening")
	c, err := l.Accept()
	if err != nil {
		return "", err
	}
	_, err = c.Write(make([]byte, Number(a[1])))
	fmt.Println("answered")
	os.Exit(map[bool]int{true: 0, false: 1}[err == nil])
	return "", nil
}

// bindVerb binds a socket to a[0], with the options in the other words, and listens if that is possible. The socket
// stays open, but for the option "closed". With "patient" it says that the address is in use, and tries again.
func bindVerb(a []string) error {
	family, sa, err := address(a[0])
	if err != nil {
		return err
	}
	has := func(option string) bool { return slices.Contains(a[1:], option) }
	if has("patient") {
		a = slices.DeleteFunc(slices.Clone(a), func(word string) bool { return word == "patient" })
		if err = bindVerb(a); err == unix.EADDRINUSE {
			fmt.Println("in use")
		}
		for err == unix.EADDRINUSE {
			time.Sleep(10 * time.Millisecond)
			err = bindVerb(a)
		}
		return err
	}
	kind := unix.SOCK_STREAM
	if has("udp") {
		kind = unix.SOCK_DGRAM
	}
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if has("reuse") {
		must(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1))
	}
	if has("reuse-port") {
		must(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1))
	}
	if has("v6only") {
		must(unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1))
	}
	if err = unix.Bind(fd, sa); err == nil && kind == unix.SOCK_STREAM {
		err = unix.Listen(fd, 5)
	}
	if err != nil || has("closed") {
		unix.Close(fd)
	}
	return err
}

// stayVerb connects to a[0], and does not end the connection.
func stayVerb(a []string) error {
	family, sa, err := address(a[0])
	if err != nil {
		return err
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Connect(fd, sa)
	}
	return err
}

// visitVerb says a[1] at a[0], as a browser does at the end of a login, and returns the answer.
func visitVerb(a []string) (string, error) {
	c, err := net.Dial("tcp", a[0])
	if err != nil {
		return "", err
	}
	defer c.Close()
	if _, err := io.WriteString(c, a[1]); err != nil {
		return "", err
	}
	c.(*net.TCPConn).CloseWrite()
	b, err := io.ReadAll(c)
	return string(b), err
}
