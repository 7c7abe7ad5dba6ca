package egress

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// world are the addresses that the tests' network has, all its own: places in the
// internet, and such as a name should not lead to.
var world = []string{
	"198.51.100.0/24", "203.0.113.0/24", "10.99.0.0/24", "169.254.169.254/32",
	"2001:db8::/32", "64:ff9b::/96", "fd00:99::/64",
}

const inWorld = "MCPJAIL_EGRESS_TEST"

// TestMain runs the tests once more in a network namespace of their own, where
// nothing but the tests listens.
func TestMain(m *testing.M) {
	testkit.Programs{goClient: getByGo}.Dispatch()
	if slices.Contains(os.Args, "-test.fuzzworker") {
		os.Exit(m.Run()) // in there already
	}
	if os.Getenv(inWorld) != "" {
		if err := makeWorld(); err != nil {
			fmt.Fprintln(os.Stderr, "the tests' network:", err)
			os.Exit(1)
		}
		os.Exit(m.Run())
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), inWorld+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	runtime.LockOSThread() // its end would be the parent's death
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		os.Exit(exit.ExitCode())
	case err != nil && cmd.Process == nil && !strings.Contains(os.Getenv("MCPJAIL_REQUIRE"), "userns"):
		fmt.Fprintln(os.Stderr, "SKIP: no network of the tests' own:", err)
		os.Exit(0)
	case err != nil:
		fmt.Fprintln(os.Stderr, "the tests:", err)
		os.Exit(1)
	}
}

func makeWorld() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, lo); err != nil {
		return err
	}
	for _, prefix := range world {
		if err := addLocal(prefix); err != nil {
			return fmt.Errorf("%s: %w", prefix, err)
		}
	}
	return nil
}

// addLocal adds the route that makes all addresses of a block the machine's own.
func addLocal(prefix string) error {
	p := mustPrefix(prefix)
	attr := func(b []byte, kind uint16, data []byte) []byte {
		b = binary.NativeEndian.AppendUint16(b, uint16(4+len(data)))
		b = append(binary.NativeEndian.AppendUint16(b, kind), data...)
		return append(b, make([]byte, -len(data)&3)...)
	}
	family := byte(unix.AF_INET)
	if p.Addr().Is6() {
		family = unix.AF_INET6
	}
	body := []byte{family, byte(p.Bits()), 0, 0, unix.RT_TABLE_LOCAL, unix.RTPROT_STATIC, unix.RT_SCOPE_HOST, unix.RTN_LOCAL, 0, 0, 0, 0}
	body = attr(body, unix.RTA_DST, p.Addr().AsSlice())
	body = attr(body, unix.RTA_OIF, binary.NativeEndian.AppendUint32(nil, 1))
	message := binary.NativeEndian.AppendUint32(nil, uint32(unix.NLMSG_HDRLEN+len(body)))
	message = binary.NativeEndian.AppendUint16(message, unix.RTM_NEWROUTE)
	message = binary.NativeEndian.AppendUint16(message, unix.NLM_F_REQUEST|unix.NLM_F_CREATE|unix.NLM_F_ACK)
	message = append(append(message, make([]byte, 8)...), body...)
	s, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	if err := unix.Sendto(s, message, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	reply := make([]byte, 4096)
	n, _, err := unix.Recvfrom(s, reply, 0)
	if err != nil || n < unix.NLMSG_HDRLEN+4 {
		return fmt.Errorf("the kernel's answer: %d bytes, %w", n, err)
	}
	if code := int32(binary.NativeEndian.Uint32(reply[unix.NLMSG_HDRLEN:])); code != 0 {
		return syscall.Errno(-code)
	}
	return nil
}
