package attacker

import (
	"context"
	"fmt"
	"os/exec"
	"syscall"
	"unsafe"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// verbsOnKernel are attempts on interfaces of the kernel that few programs need.
var verbsOnKernel = map[string]func(args []string) (string, error){
	"userns": silent(func([]string) error {
		cmd := exec.Command("/usr/bin/true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
		return cmd.Run()
	}),
	"start": silent(func([]string) error {
		proc, err := confine.Launcher{}.Start(context.Background(), &policy.Profile{
			Program: "/bin/true", Argv: []string{"true"}, Dir: "/",
			Entries: []policy.Entry{{Path: "/usr", Kind: policy.KindDir, Rights: policy.Read | policy.Execute}},
			Links:   []policy.Link{{Path: "/bin", Target: "usr/bin"}, {Path: "/lib", Target: "usr/lib"}, {Path: "/lib64", Target: "usr/lib64"}},
		}, jail.Stdio{})
		if err == nil {
			proc.Wait()
		}
		return err
	}),
	"unshare": silent(func(a []string) error { return unix.Unshare(Number(a[0])) }),
	"setns":   silent(func(a []string) error { return onFD(a[0], func(fd int) error { return unix.Setns(fd, 0) }) }),
	"mount":   silent(func(a []string) error { return unix.Mount("none", a[0], "tmpfs", 0, "") }),
	"umount":  silent(func(a []string) error { return unix.Unmount(a[0], unix.MNT_DETACH) }),
	"chroot":  silent(func(a []string) error { return unix.Chroot(a[0]) }),
	"fsopen":  silent(func(a []string) error { return Closing(unix.Fsopen(a[0], unix.FSOPEN_CLOEXEC)) }),
	"socket": silent(func(a []string) error {
		return Closing(unix.Socket(Number(a[0]), Number(a[1])|unix.SOCK_CLOEXEC, Number(a[2])))
	}),
	"keyring": silent(func([]string) error {
		_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false)
		return err
	}),
	"personality": silent(func([]string) error {
		_, _, errno := unix.Syscall(unix.SYS_PERSONALITY, 0x0040000, 0, 0)
		if errno != 0 {
			return errno
		}
		return nil
	}),
	"sticky-input": silent(attemptTerminal),
}

func attemptTerminal([]string) error {
	master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("no terminal: %v", err)
	}
	defer unix.Close(master)
	c := byte('x')
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCSTI, uintptr(unsafe.Pointer(&c)))
	if errno != 0 {
		return errno
	}
	return nil
}
