// Command guest is the init of the virtual machines that testdata/vm boots. It mounts the
// filesystems of an ordinary system, starts itself again to run the checks, and turns the
// machine off. Its arguments come from the kernel's command line, after --: the name of
// the boot, and the task.
package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func main() {
	if os.Getpid() != 1 {
		work(os.Args[1:])
		return
	}
	r, err := openReport("/dev/console")
	if err == nil {
		if err = setUp(); err == nil {
			err = runAndReap()
		}
	}
	if err != nil {
		fmt.Fprintln(r, "init:", err) // and no @end: the host will say so
	}
	unix.Sync()
	unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}

// runAndReap runs the checks in a child process and reaps all orphans, as an init does.
func runAndReap() error {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin", "HOME=/root", "USER=root", "LANG=C.UTF-8"}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		if err != nil && err != syscall.EINTR {
			return err
		}
		if pid == cmd.Process.Pid && (ws.Exited() || ws.Signaled()) {
			return nil
		}
	}
}

func setUp() error {
	for _, m := range []struct {
		kind, at, options string
		flags             uintptr
	}{
		{"proc", "/proc", "", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
		{"sysfs", "/sys", "", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
		{"securityfs", "/sys/kernel/security", "", 0},
		{"devtmpfs", "/dev", "", unix.MS_NOSUID},
		{"devpts", "/dev/pts", "ptmxmode=0666,mode=0620", unix.MS_NOSUID | unix.MS_NOEXEC},
		{"tmpfs", "/dev/shm", "", unix.MS_NOSUID | unix.MS_NODEV},
		{"tmpfs", "/run", "mode=0755", unix.MS_NOSUID | unix.MS_NODEV},
		{"tmpfs", "/tmp", "mode=1777", unix.MS_NOSUID | unix.MS_NODEV},
		{"cgroup2", "/sys/fs/cgroup", "", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
	} {
		if err := os.MkdirAll(m.at, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		// Some kernels mount /dev by themselves.
		if err := unix.Mount(m.kind, m.at, m.kind, m.flags, m.options); err != nil && !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("mount %s: %w", m.at, err)
		}
	}
	// Any user may have made the disk, so its files may belong to anyone.
	err := filepath.WalkDir("/", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case p == "/dev" || p == "/proc" || p == "/sys" || p == "/run" || p == "/tmp":
			return filepath.SkipDir
		case strings.HasPrefix(p, "/home/user"):
			return os.Lchown(p, 1000, 1000)
		}
		return os.Lchown(p, 0, 0)
	})
	if err != nil {
		return err
	}
	return errors.Join(os.Chmod("/var/tmp", 0o777|fs.ModeSticky), loopback(), controllers(), unix.Sethostname([]byte("vm")))
}

func loopback() error {
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

// controllers enables all controllers of the kernel in the cgroups below the root.
func controllers() error {
	b, err := os.ReadFile("/sys/fs/cgroup/cgroup.controllers")
	if err != nil {
		return err
	}
	for c := range strings.FieldsSeq(string(b)) {
		if err := os.WriteFile("/sys/fs/cgroup/cgroup.subtree_control", []byte("+"+c), 0); err != nil {
			return fmt.Errorf("controller %s: %w", c, err)
		}
	}
	return nil
}

// work runs the task of the command line and reports it.
func work(args []string) {
	if len(args) < 3 {
		fmt.Fprintf(os.Stderr, "usage: guest BOOT REPORT TASK...; got %q\n", args)
		os.Exit(1)
	}
	r, err := openReport("/dev/" + args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// The host takes a report without this line for one of a machine that crashed.
	if err := task(r, args[0], args[2:]); err != nil {
		fmt.Fprintln(r, "init:", err)
		return
	}
	fmt.Fprintln(r, "@end")
}

func task(r *report, boot string, args []string) error {
	var word []byte
	if len(args) > 1 {
		var err error
		if word, err = base64.RawURLEncoding.DecodeString(args[1]); err != nil {
			return err
		}
	}
	m, err := thisMachine(boot)
	if err != nil {
		return err
	}
	switch args[0] {
	case "exec":
		cmd := exec.Command("/bin/sh", "-c", string(word))
		cmd.Stdout, cmd.Stderr = r, r
		if err := cmd.Run(); err != nil {
			fmt.Fprintln(r, "@fail command", err)
		}
		return nil
	case "only":
		only, err := regexp.Compile(string(word))
		if err == nil {
			m.patience = args[2]
			runChecks(r, m, only)
		}
		return err
	}
	return fmt.Errorf("unknown task %q", args[0])
}
