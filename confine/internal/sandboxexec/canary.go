//go:build darwin || linux

package sandboxexec

import (
	"net/netip"
	"os"
	"strconv"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"golang.org/x/sys/unix"
)

// attempt makes the attempt of a canary. undo takes back what a successful one did.
func attempt(k spec.Canary) (undo func(), err error) {
	undo = func() {}
	switch k.Attempt {
	case spec.CanaryRead:
		return undo, readByte(k.Target)
	case spec.CanaryList:
		d, err := os.Open(k.Target)
		if err == nil {
			_, err = d.Readdirnames(1)
			d.Close()
		}
		return undo, err
	case spec.CanaryCreate:
		fd, err := unix.Open(k.Target, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return undo, err
		}
		unix.Close(fd)
		return func() { unix.Unlink(k.Target) }, nil
	case spec.CanaryConnect:
		return undo, connect(k.Target)
	case spec.CanarySignal:
		pid, err := strconv.Atoi(k.Target)
		if err != nil || pid <= 1 {
			return undo, spec.ErrSpec
		}
		return undo, unix.Kill(pid, 0)
	}
	return undo, spec.ErrSpec
}

// readByte opens a file and reads from it.
func readByte(file string) error {
	fd, err := unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Read(fd, make([]byte, 1))
	return err
}

// connect connects to a TCP address. Without any network the socket itself is refused.
func connect(address string) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	family, sa := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()})
	if v4 := to.Addr().Unmap(); v4.Is4() {
		family, sa = unix.AF_INET, &unix.SockaddrInet4{Port: int(to.Port()), Addr: v4.As4()}
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM, 0)
	if err != nil {
		return step.On("socket", err)
	}
	defer unix.Close(fd)
	return step.On("connect", unix.Connect(fd, sa))
}
