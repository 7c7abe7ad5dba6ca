package sys

import (
	"bytes"
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Dir is the proc filesystem that shows this process and the jail's, and DirFD the descriptor
// that relative names in Dir start from. The supervisor of a jail with namespaces sets them:
// the working directory of its threads, apart from its workers, is a proc of its own.
var Dir, DirFD = "/proc", unix.AT_FDCWD

// ThreadFile returns the name of a thread's file, for a number of this process's namespace.
func ThreadFile(tid int, name string) string {
	return Dir + "/" + strconv.Itoa(tid) + "/" + name
}

// FDFile returns the name of the file that a descriptor of this process refers to.
func FDFile(fd int) string { return Dir + "/self/fd/" + strconv.Itoa(fd) }

// ReadThread reads the beginning of a thread's file into b.
func ReadThread(tid int, name string, b []byte) ([]byte, error) {
	fd, err := unix.Openat(DirFD, ThreadFile(tid, name), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	n, err := unix.Read(fd, b)
	return b[:max(n, 0)], err
}

// NSPid returns the number of a thread in the innermost PID namespace, which is the jail's,
// or 0 (proc_pid_status(5), NSpid).
func NSPid(tid int) int {
	b, _ := ReadThread(tid, "status", make([]byte, StatusSize))
	if n := lastNumber(b, "NSpid:"); n > 0 {
		return n
	}
	return 0
}

// Tracer returns the thread that traces a thread, or 0.
func Tracer(tid int) int {
	b, _ := ReadThread(tid, "status", make([]byte, StatusSize))
	return max(lastNumber(b, "TracerPid:"), 0)
}

// ThreadGroup returns the process of a thread, or 0.
func ThreadGroup(tid int) int {
	b, _ := ReadThread(tid, "status", make([]byte, StatusSize))
	return max(lastNumber(b, "Tgid:"), 0)
}

// Parent returns the parent of a process, or 0.
func Parent(pid int) int {
	b, _ := ReadThread(pid, "status", make([]byte, StatusSize))
	return max(lastNumber(b, "PPid:"), 0)
}

// StatusSize is enough for the lines of a status that this package reads, also for a process
// with many groups.
const StatusSize = 4096

// ThreadStatus returns the process of a thread, by the number that the process has in the jail,
// and the umask of the thread (proc_pid_status(5)).
func ThreadStatus(tid int) (tgid, umask int, errno syscall.Errno) {
	b, err := ReadThread(tid, "status", make([]byte, StatusSize))
	if err != nil {
		return 0, 0, unix.ESRCH
	}
	umask = -1
	for line := range bytes.Lines(b) {
		if v, ok := bytes.CutPrefix(line, []byte("Umask:")); ok {
			u, _ := strconv.ParseInt(string(bytes.TrimSpace(v)), 8, 32)
			umask = int(u)
		}
	}
	if tgid = lastNumber(b, "NStgid:"); tgid < 0 || umask < 0 {
		return 0, 0, unix.ESRCH
	}
	return tgid, umask, 0
}

func lastNumber(status []byte, name string) int {
	for line := range bytes.Lines(status) {
		if v, ok := bytes.CutPrefix(line, []byte(name)); ok {
			words := bytes.Fields(v)
			if len(words) == 0 {
				return -1
			}
			n, err := strconv.Atoi(string(words[len(words)-1]))
			if err != nil {
				return -1
			}
			return n
		}
	}
	return -1
}

// TerminalNumber returns tty_nr, the seventh field of a proc(5) stat file, or 0.
func TerminalNumber(stat []byte) int {
	i := bytes.LastIndexByte(stat, ')') // the program's name may contain any byte
	fields := bytes.Fields(stat[i+1:])
	if len(fields) < 5 {
		return 0
	}
	n, _ := strconv.Atoi(string(fields[4]))
	return n
}

// ReadMemory reads memory of another process (process_vm_readv(2)). It returns EFAULT if
// nothing could be read.
func ReadMemory(tid int, addr uint64, into []byte) (int, syscall.Errno) {
	local := unix.Iovec{Base: &into[0], Len: uint64(len(into))}
	remote := unix.RemoteIovec{Base: uintptr(addr), Len: len(into)}
	n, _, errno := unix.RawSyscall6(unix.SYS_PROCESS_VM_READV, uintptr(tid),
		uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
	runtime.KeepAlive(into)
	if errno == 0 && n == 0 {
		errno = unix.EFAULT
	}
	return int(n), errno
}

// Threads returns the threads of a process, whose directory is given. It lists them until two
// listings agree, and have as many threads as the kernel counts. The kernel ends a listing early if the thread
// that it is at ends, and the next listing lacks that thread, and may end early at the same place. Threads that
// start and end all the time lead to errHidden and to those that were seen.
func Threads(process string) (tids []string, err error) {
	for range 20 {
		fd, err := unix.Openat(DirFD, process+"/task", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, err
		}
		dir := os.NewFile(uintptr(fd), "task")
		names, err := dir.Readdirnames(-1)
		dir.Close()
		if err != nil {
			return nil, err
		}
		if slices.Equal(names, tids) && len(tids) == countThreads(process) {
			return tids, nil
		}
		tids = names
	}
	return tids, errHidden
}

// countThreads returns how many threads a process has, as the kernel counts them, or 0.
func countThreads(process string) int {
	fd, err := unix.Openat(DirFD, process+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	var b [1024]byte
	n, err := unix.Read(fd, b[:])
	if err != nil {
		return 0
	}
	const threads = 17 // proc_pid_stat(5): the 20th field, and the third comes after the name
	fields := bytes.Fields(b[bytes.LastIndexByte(b[:n], ')')+1 : n])
	if len(fields) <= threads {
		return 0
	}
	count, _ := strconv.Atoi(string(fields[threads]))
	return count
}
