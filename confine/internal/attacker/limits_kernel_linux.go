package attacker

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// mostQueues bounds the pairs of sockets that are filled, and mostRecords the records in the log of the kernel:
// these attempts also run without a jail.
const mostQueues, mostRecords = 2000, 20

// verbsOfKernelMemory use up memory of the kernel's.
var verbsOfKernelMemory = map[string]func(args []string) (string, error){
	"socket-option": silent(func(a []string) error { // sets an option of a socket; the kernel knows it unless it answers so
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			err = unix.SetsockoptInt(pair[0], Number(a[0]), Number(a[1]), 0)
		}
		if err != unix.ENOPROTOOPT {
			return nil
		}
		return err
	}),
	"send": silent(func(a []string) error { // one byte, with flags
		pair := get(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
		return unix.Sendto(pair[0], []byte("x"), Number(a[0]), nil)
	}),
	"splice": silent(func(a []string) error { // a page of a file into a pipe
		f, err := os.Open(a[0])
		if err != nil {
			return err
		}
		defer f.Close()
		var pipe [2]int
		if err = unix.Pipe2(pipe[:], unix.O_CLOEXEC); err == nil {
			_, err = unix.Splice(int(f.Fd()), nil, pipe[1], nil, 4096, 0)
		}
		return err
	}),
	"memfd-attribute": silent(func([]string) error { // an extended attribute of a memfd
		fd := get(unix.MemfdCreate("attribute", unix.MFD_CLOEXEC))
		defer unix.Close(fd)
		return unix.Fsetxattr(fd, "user.test", []byte("x"), 0)
	}),
	"memfd-secret": silent(func([]string) error { return Closing(unix.MemfdSecret(unix.O_CLOEXEC)) }),
	"ruleset": silent(func([]string) error {
		return Closing(ll.LandlockCreateRuleset(&ll.RulesetAttr{HandledAccessFS: ll.AccessFSExecute}, 0))
	}),
	"semaphores": silent(func(a []string) error { // a set of a[0]
		id, _, errno := unix.Syscall(unix.SYS_SEMGET, unix.IPC_PRIVATE, uintptr(Number(a[0])), unix.IPC_CREAT|0o600)
		if errno == 0 {
			_, _, errno = unix.Syscall(unix.SYS_SEMCTL, id, 0, unix.IPC_RMID)
		}
		if errno != 0 {
			return errno
		}
		return nil
	}),
	"fill-messages": silent(attemptMessages),
	"backlog": func([]string) (string, error) { // how many connections can wait at a listener
		fd := get(unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
		defer unix.Close(fd)
		must(unix.Listen(fd, 1<<15))
		info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		return fmt.Sprint(info.Sacked), err // which has it for a listener
	},
	"queues":    silent(attemptQueues),
	"queue-tcp": silent(attemptQueueTCP),
	"log":       silent(attemptLog),
}

// attemptMessages fills queues of System V with a[0] MB in all, and waits to be ended.
func attemptMessages(a []string) error {
	text := struct {
		kind int64
		text [8192]byte
	}{kind: 1}
	for range Number(a[0]) << 20 / (2 * len(text.text)) {
		id, _, errno := unix.Syscall(unix.SYS_MSGGET, unix.IPC_PRIVATE, unix.IPC_CREAT|0o600, 0)
		for range 2 {
			if errno == 0 {
				_, _, errno = unix.Syscall6(unix.SYS_MSGSND, id, uintptr(unsafe.Pointer(&text)), uintptr(len(text.text)), unix.IPC_NOWAIT, 0, 0)
			}
		}
		if errno != 0 {
			return errno
		}
	}
	time.Sleep(20 * time.Second)
	return nil
}

// attemptQueues fills a[0] pairs of sockets, as far as they take it without waiting, and keeps them.
func attemptQueues(a []string) error {
	block := make([]byte, 32<<10)
	for range min(Number(a[0]), mostQueues) {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			return err
		}
		for _, fd := range pair {
			for err = nil; err == nil; {
				_, err = unix.Write(fd, block)
			}
			if err != unix.EAGAIN {
				return err
			}
		}
	}
	time.Sleep(2 * time.Second) // which is long enough for a sample
	return nil
}

// attemptQueueTCP has a TCP connection queue a[0] bytes that nothing reads. With a second word both ends ask for the
// largest buffers that they may have.
func attemptQueueTCP(a []string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return err
	}
	defer c.Close()
	if len(a) > 1 {
		end := get(l.Accept())
		defer end.Close()
		must(errors.Join(c.(*net.TCPConn).SetWriteBuffer(1<<30), end.(*net.TCPConn).SetReadBuffer(1<<30)))
	}
	c.SetWriteDeadline(time.Now().Add(2 * time.Second))
	if _, err = c.Write(make([]byte, Number(a[0]))); errors.Is(err, os.ErrDeadlineExceeded) {
		return unix.EAGAIN
	}
	return err
}

// attemptLog has the kernel record a[0] calls in its log, by a filter of its own.
func attemptLog(a []string) error {
	runtime.LockOSThread()
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: unix.SYS_GETPPID},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_LOG},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if err == nil {
		_, _, errno := syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
		runtime.KeepAlive(filter)
		if errno != 0 {
			return errno
		}
	}
	for range min(Number(a[0]), mostRecords) {
		syscall.RawSyscall(unix.SYS_GETPPID, 0, 0, 0)
	}
	return err
}
