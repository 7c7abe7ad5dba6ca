package sys

import (
	"bytes"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// WritableInodes returns the inode numbers of the files that processes have open for writing or
// mapped shared. all is true if that cannot be told, so that any file may be among them: a
// descriptor is on its way through a socket, or a process shows no descriptors.
func WritableInodes(pids []string) (inodes map[uint64]bool, all bool) {
	inodes = map[uint64]bool{}
	for _, pid := range pids {
		for _, read := range []func(string, map[uint64]bool) error{threadInodes, mappedInodes} {
			if err := read(Dir+"/"+pid, inodes); err != nil && !isGone(err) {
				return nil, true
			}
		}
	}
	return inodes, false
}

func isGone(err error) bool { return errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) }

// errHidden is the error of a process whose threads or descriptors cannot all be seen.
var errHidden = errors.New("it has threads or descriptors that are not shown")

// threadInodes adds the files that the threads of a process have open for writing. Each thread may
// have a table of its own (unshare(2), CLONE_FILES), and the first one may have ended.
func threadInodes(process string, inodes map[uint64]bool) error {
	tids, err := Threads(process)
	if err != nil {
		return err
	}
	for _, tid := range tids {
		if sharesTable(process, tid) {
			continue
		}
		if err := openInodes(process+"/task/"+tid, inodes); err != nil && !isGone(err) {
			return err
		}
	}
	return nil
}

// sharesTable reports whether a thread has the table of descriptors of the first thread of its
// process, so that threadInodes need not read the table again. If that cannot be told, sharesTable
// returns false.
func sharesTable(process, tid string) bool {
	pid := path.Base(process)
	first, err := strconv.Atoi(pid)
	other, err2 := strconv.Atoi(tid)
	if err != nil || err2 != nil || pid == tid {
		return false
	}
	const files = 2 // KCMP_FILES
	order, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(first), uintptr(other), files, 0, 0, 0)
	return errno == 0 && order == 0
}

func openInodes(thread string, inodes map[uint64]bool) error {
	dir, err := os.Open(thread + "/fdinfo")
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	if len(names) == 0 && !hasEnded(thread) {
		return errHidden
	}
	for _, name := range names {
		b, err := hostfs.ReadFile(thread + "/fdinfo/" + name)
		if err != nil {
			continue // it was closed
		}
		flags, ino := uint64(0), uint64(0)
		for line := range strings.Lines(string(b)) {
			key, value, _ := strings.Cut(line, ":")
			switch value = strings.TrimSpace(value); key {
			case "flags":
				flags, _ = strconv.ParseUint(value, 8, 64)
			case "ino": // since Linux 5.14
				ino, _ = strconv.ParseUint(value, 10, 64)
			case "scm_fds": // descriptors that wait in a socket
				if value != "0" {
					return errHidden
				}
			}
		}
		switch {
		case flags&unix.O_ACCMODE == unix.O_RDONLY:
		case ino == 0:
			return unix.ENOSYS
		default:
			inodes[ino] = true
		}
	}
	return nil
}

func hasEnded(thread string) bool {
	b, err := hostfs.ReadFile(thread + "/stat")
	if err != nil {
		return isGone(err)
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	return len(f) > 0 && (f[0] == "Z" || f[0] == "X")
}

// mappedInodes adds the files that a process has mapped shared (proc_pid_maps(5)), whatever its
// present rights to the mapping are: mprotect could make it writable.
func mappedInodes(process string, inodes map[uint64]bool) error {
	b, err := hostfs.ReadFile(process + "/maps")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 5 || len(f[1]) < 4 || f[1][3] != 's' {
			continue // private: a write does not reach the file
		}
		if ino, err := strconv.ParseUint(f[4], 10, 64); err == nil && ino != 0 {
			inodes[ino] = true
		}
	}
	return nil
}

// Sysctl returns the value of a sysctl, given as a path below /proc/sys, or "".
func Sysctl(name string) string { return ReadLine(filepath.Join("/proc/sys", name)) }

// ReadLine returns the text of a file without the line's end, or "".
func ReadLine(file string) string {
	b, _ := hostfs.ReadFile(file)
	return strings.TrimSpace(string(b))
}

// Mounts returns the mounts that a process sees (proc_pid_mountinfo(5)), or nil.
func Mounts(pid int) []byte {
	b, _ := hostfs.ReadFile("/proc/" + strconv.Itoa(pid) + "/mountinfo")
	return b
}

// ReadDirNames returns the names in a directory, or those read before an error.
func ReadDirNames(dir string) (names []string) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	b := make([]byte, 4096)
	for {
		n, err := unix.ReadDirent(fd, b)
		if err != nil || n <= 0 {
			return names
		}
		_, _, names = unix.ParseDirent(b[:n], -1, names)
	}
}

// ParseNumbers calls f for each line "name: number", as in /proc/meminfo or a process's
// status. It skips other lines.
func ParseNumbers(b []byte, f func(name string, n int64)) {
	for line := range strings.Lines(string(b)) {
		name, rest, _ := strings.Cut(line, ":")
		fields := strings.Fields(rest)
		if len(fields) == 0 {
			continue
		}
		if n, err := strconv.ParseInt(fields[0], 10, 64); err == nil {
			f(name, n)
		}
	}
}

// TotalSwap returns the bytes of swap that the host has, and whether that is known.
func TotalSwap(proc string) (total int64, known bool) {
	b, err := hostfs.ReadFile(path.Join(proc, "meminfo"))
	if err != nil {
		return 0, false
	}
	ParseNumbers(b, func(name string, n int64) {
		if name == "SwapTotal" {
			total, known = n<<10, true
		}
	})
	return total, known
}

// SharedMemory returns the bytes of shared memory of the whole host, and of all pages that are
// swapped out, because some of these may be shared memory.
func SharedMemory(proc string) (now int64, err error) {
	b, err := hostfs.ReadFile(path.Join(proc, "meminfo"))
	ParseNumbers(b, func(name string, n int64) {
		switch name {
		case "Shmem", "SwapTotal": // Shmem does not count pages that are swapped out
			now += n << 10
		case "SwapFree":
			now -= n << 10
		}
	})
	return now, err
}
