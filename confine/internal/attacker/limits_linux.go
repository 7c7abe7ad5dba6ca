package attacker

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"golang.org/x/sys/unix"
)

// verbsOfLimits use up resources that have a limit.
var verbsOfLimits = map[string]func(args []string) (string, error){
	"openfiles": attemptOpenFiles,
	"inotify":   silent(attemptInotify),
	"fill":      silent(attemptFill),
	"fork":      attemptFork,
	"fork-all":  attemptForkAll,
	"fork-wait": func(a []string) (string, error) {
		sys.StartIdleThreads(2*spec.MaxProcs, func() {}) // of a runtime that dies without, and needs more under load
		said, err := attemptFork(a)
		time.Sleep(1500 * time.Millisecond)
		return said, err
	},
	"fork-busy":       attemptForkBusy,
	"allocate":        silent(func(a []string) error { return attemptAllocate(a, unix.MAP_PRIVATE) }),
	"allocate-shared": silent(func(a []string) error { return attemptAllocate(a, unix.MAP_SHARED) }),
	"allocate-hidden": silent(func(a []string) error {
		unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
		return attemptAllocate(a, unix.MAP_PRIVATE)
	}),
	"allocate-two": silent(func(a []string) error {
		cmd := exec.Command(Executable())
		cmd.Args = []string{Name, fmt.Sprintf(`[["allocate", %q]]`, a[0])}
		must(cmd.Start())
		must(attemptAllocate(a, unix.MAP_PRIVATE))
		return cmd.Wait()
	}),
	"allocate-memfd": silent(attemptAllocateMemfd),
	"allocate-own":   silent(attemptAllocateOwnFiles),
	"allocate-first": silent(attemptAllocateFirstless),
	"allocate-sysv":  silent(attemptAllocateSysV),
	"allocate-pages": silent(attemptAllocatePageTables),
	"fill-both":      silent(attemptFillBoth),
	"full":           silent(func(a []string) error { return fillOwn(a[0], Number(a[1])) }),
	"swarm":          attemptSwarm,
	"glutton":        attemptGlutton,
}

func attemptInotify(a []string) error {
	n, err := strconv.Atoi(a[0])
	for range n {
		if err == nil {
			_, err = unix.InotifyInit1(unix.IN_CLOEXEC)
		}
	}
	return err
}

func attemptOpenFiles([]string) (string, error) {
	for n := 0; ; n++ {
		if _, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			return fmt.Sprintf("%d %s", n, unix.ErrnoName(err.(syscall.Errno))), nil
		}
	}
}

func attemptFork(a []string) (string, error) {
	most := Number(a[0])
	for n := range most {
		pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if errno != 0 {
			return fmt.Sprintf("%d %s", n, unix.ErrnoName(errno)), nil
		}
		if pid == 0 {
			for {
				syscall.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
			}
		}
	}
	return strconv.Itoa(most), nil
}

// attemptForkAll forks until it cannot, and counts the tasks of the server.
func attemptForkAll([]string) (string, error) {
	sys.StartIdleThreads(spec.MaxProcs, func() {})
	said, err := attemptFork([]string{"10000"})
	children, _, _ := strings.Cut(said, " ")
	threads, _ := os.ReadDir("/proc/self/task")
	return strconv.Itoa(Number(children) + len(threads)), err
}

// attemptForkBusy starts up to a[0] processes, each of which makes, moves and removes
// directories, and tries to start more for a[1] seconds.
func attemptForkBusy(a []string) (string, error) {
	most, seconds := Number(a[0]), Number(a[1])
	sys.StartIdleThreads(spec.MaxProcs, func() {}) // of a runtime that dies without
	clone := func() (uintptr, syscall.Errno) {
		pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		return pid, errno
	}
	for n := range most {
		from, to := fmt.Appendf(nil, "from%d\x00", n), fmt.Appendf(nil, "to%d\x00", n)
		at := ^uintptr(99) // AT_FDCWD
		pid, errno := clone()
		if errno != 0 {
			time.Sleep(time.Duration(seconds) * time.Second)
			return fmt.Sprintf("%d %s", n, unix.ErrnoName(errno)), nil
		}
		if pid == 0 { // nothing of the runtime works here
			for {
				syscall.RawSyscall(unix.SYS_MKDIRAT, at, uintptr(unsafe.Pointer(&from[0])), 0o700)
				syscall.RawSyscall6(unix.SYS_RENAMEAT, at, uintptr(unsafe.Pointer(&from[0])), at, uintptr(unsafe.Pointer(&to[0])), 0, 0)
				syscall.RawSyscall(unix.SYS_UNLINKAT, at, uintptr(unsafe.Pointer(&to[0])), unix.AT_REMOVEDIR)
				if pid, errno := clone(); errno == 0 && pid == 0 {
					syscall.RawSyscall(unix.SYS_EXIT, 0, 0, 0)
				}
			}
		}
	}
	return strconv.Itoa(most), nil
}

func attemptAllocate(a []string, kind int) error {
	b, err := unix.Mmap(-1, 0, Number(a[0])<<20, unix.PROT_READ|unix.PROT_WRITE, kind|unix.MAP_ANON)
	if err != nil {
		return err
	}
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
	time.Sleep(20 * time.Second)
	return nil
}

func attemptAllocateMemfd(a []string) error {
	fd, err := unix.MemfdCreate("hoard", unix.MFD_CLOEXEC)
	if err != nil {
		return err
	}
	if err := writeMB(fd, Number(a[0])); err != nil {
		return err
	}
	time.Sleep(20 * time.Second)
	return nil
}

// attemptAllocateOwnFiles fills a memfd in a thread with a descriptor table of its own.
func attemptAllocateOwnFiles(a []string) error {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		done := make(chan error)
		go func() { done <- attemptAllocateOwnFiles(a) }()
		return <-done
	}
	if r, w, err := os.Pipe(); err == nil { // the runtime's poller is in both tables then
		defer r.Close()
		defer w.Close()
	}
	if err := unix.Unshare(unix.CLONE_FILES); err != nil {
		return err
	}
	return attemptAllocateMemfd(a)
}

// attemptAllocateFirstless allocates memory in a process whose first thread has ended. /proc
// shows a process by its first thread.
func attemptAllocateFirstless(a []string) error {
	done := make(chan error)
	go func() {
		for range 200 {
			if b, err := os.ReadFile("/proc/self/status"); err == nil && !strings.Contains(string(b), "VmRSS") {
				attemptAllocate(a, unix.MAP_PRIVATE)
				os.Exit(0) // the thread that waits for done may have ended
			}
			time.Sleep(10 * time.Millisecond)
		}
		done <- errors.New("the first thread is still there")
	}()
	go endFirstThread(50)
	endFirstThread(0) // which a caller that is bound to it already has
	return <-done
}

func endFirstThread(tries int) {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		unix.Syscall(unix.SYS_EXIT, 0, 0, 0)
	}
	if tries == 0 {
		return
	}
	time.Sleep(5 * time.Millisecond)
	go endFirstThread(tries - 1)
	time.Sleep(20 * time.Second)
}

// attemptAllocateSysV fills segments of at most 16 MB and detaches them.
func attemptAllocateSysV(a []string) error {
	const size = 16 << 20
	for range Number(a[0])<<20/size + 1 {
		id := get(unix.SysvShmGet(unix.IPC_PRIVATE, size, unix.IPC_CREAT|0o600))
		b := get(unix.SysvShmAttach(id, 0, 0))
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		must(unix.SysvShmDetach(b))
	}
	time.Sleep(20 * time.Second)
	return nil
}

// attemptAllocatePageTables reads one byte in each of a[0] page tables. All map the same zero
// page, but each table needs memory.
func attemptAllocatePageTables(a []string) error {
	const span = 2 << 20
	n := Number(a[0])
	for begin := 0; begin < n; begin += 1000 {
		b := get(unix.Mmap(-1, 0, 1000*span, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE))
		unix.Madvise(b, unix.MADV_NOHUGEPAGE)
		for i := range 1000 {
			if b[i*span] != 0 {
				return unix.EFAULT
			}
		}
	}
	time.Sleep(20 * time.Second)
	return nil
}

func attemptFill(a []string) error {
	signal.Ignore(syscall.SIGXFSZ)
	f := get(os.Create(a[0]))
	defer f.Close()
	for range Number(a[1]) {
		get(f.Write(make([]byte, 1<<20)))
	}
	return nil
}

// attemptFillBoth fills the two filesystems of the jail as far as they let it.
func attemptFillBoth(a []string) error {
	for _, dir := range []string{"/tmp", "/dev/shm"} {
		if err := fillOwn(dir, Number(a[0])); err != nil && err != unix.ENOSPC {
			return err
		}
	}
	time.Sleep(20 * time.Second)
	return nil
}

func fillOwn(dir string, mb int) error {
	fd, err := unix.Open(dir+"/large", unix.O_WRONLY|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := writeMB(fd, mb); err != nil {
		time.Sleep(3 * time.Second) // and stay so for a while
		return err
	}
	return nil
}

func writeMB(fd, n int) error {
	block := make([]byte, 1<<20)
	for range n {
		if _, err := unix.Write(fd, block); err != nil {
			return err
		}
	}
	return nil
}
