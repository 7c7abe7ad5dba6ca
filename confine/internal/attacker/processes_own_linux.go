package attacker

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// verbsOnOthers are attempts on other processes and on objects that processes share.
var verbsOnOthers = map[string]func(args []string) (string, error){
	"signal-init": silent(signalInit),
	"parent":      func([]string) (string, error) { return strconv.Itoa(os.Getppid()), nil },
	"orphan":      attemptOrphan,
	"of-parent": func(a []string) (string, error) { // the attempt a, in which PARENT is the number of the parent
		for i := range a {
			a[i] = strings.ReplaceAll(a[i], "PARENT", strconv.Itoa(os.Getppid()))
		}
		return string(makeAttempt(a)), nil
	},
	"kill":    silent(func(a []string) error { return unix.Kill(Number(a[0]), 0) }),
	"ptrace":  silent(attemptPtrace),
	"readmem": silent(attemptReadMemory),
	"dial": silent(func(a []string) error {
		c, err := net.Dial(a[0], a[1])
		if err == nil {
			c.Close()
		}
		return err
	}),
	"loopback": silent(attemptLoopback),
	"socketpair": silent(func([]string) error {
		_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		return err
	}),
	"shmget": silent(func(a []string) error {
		_, err := unix.SysvShmGet(Number(a[0]), 1, 0)
		return err
	}),
	"mqopen": silent(func(a []string) error { return Closing(MqOpen(a[0], unix.O_RDONLY)) }),
}

func child() (*exec.Cmd, error) {
	cmd := exec.Command(Executable())
	cmd.Args = []string{Name, `[["wait"]]`}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	io.ReadFull(out, make([]byte, 5))
	return cmd, nil
}

func attemptPtrace([]string) error {
	c := get(child())
	defer c.Process.Kill()
	return unix.PtraceAttach(c.Process.Pid)
}

// attemptReadMemory reads its own memory by process_vm_readv. The filter does not distinguish
// processes.
func attemptReadMemory([]string) error {
	b := make([]byte, 1)
	x := uintptr(unsafe.Pointer(&b[0]))
	_, err := unix.ProcessVMReadv(os.Getpid(), []unix.Iovec{{Base: &b[0], Len: 1}}, []unix.RemoteIovec{{Base: x, Len: 1}}, 0)
	return err
}

// attemptLoopback talks to itself. With an address it first connects there in vain, and then listens
// there.
func attemptLoopback(a []string) error {
	at := "127.0.0.1:0"
	if len(a) > 0 {
		at = a[0]
		if _, err := net.Dial("tcp", at); !errors.Is(err, unix.ECONNREFUSED) {
			return fmt.Errorf("before it listens: %v", err)
		}
	}
	l, err := net.Listen("tcp", at)
	if err != nil {
		return err
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			c.Write([]byte("x"))
			c.Close()
		}
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = io.ReadFull(c, make([]byte, 1))
	return err
}

func MqOpen(name string, flags int) (int, error) {
	b, err := unix.BytePtrFromString(name)
	if err != nil {
		return -1, err
	}
	fd, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(b)), uintptr(flags|unix.O_CLOEXEC), 0o600, 0, 0, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

func MqUnlink(name string) {
	if b, err := unix.BytePtrFromString(name); err == nil {
		unix.Syscall(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(b)), 0, 0)
	}
}

// signalInit looks for a thread of the init that it may signal. It sends signal 0.
func signalInit([]string) error {
	init, threads := os.Getppid(), 0
	for tid := init; tid < init+512; tid++ {
		err := unix.Tgkill(init, tid, 0)
		if err == unix.ESRCH {
			continue // not the init's
		}
		threads++
		for _, err := range []error{err, unix.Kill(tid, 0), tkill(tid)} {
			if err != unix.EPERM {
				return err
			}
		}
	}
	if threads < 2 {
		return unix.ENOENT
	}
	return unix.EPERM
}

// attemptOrphan returns the parent of a process whose own one has ended.
func attemptOrphan([]string) (string, error) {
	const orphan = `p=$0; while [ $p = $0 ]; do read -r _ _ _ p _ </proc/$$/stat; done; echo $p`
	out, err := exec.Command("/bin/sh", "-c", `sh -c "$0" $$ &`, orphan).Output()
	return strings.TrimSpace(string(out)), err
}

func tkill(tid int) error {
	if _, _, errno := unix.Syscall(unix.SYS_TKILL, uintptr(tid), 0, 0); errno != 0 {
		return errno
	}
	return nil
}
