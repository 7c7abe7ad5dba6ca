package proc

import (
	"bytes"
	"errors"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
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
		b, err := ReadFile(thread + "/fdinfo/" + name)
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
	b, err := ReadFile(thread + "/stat")
	if err != nil {
		return isGone(err)
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	return len(f) > 0 && (f[0] == "Z" || f[0] == "X")
}

// mappedInodes adds the files that a process has mapped shared (proc_pid_maps(5)), whatever its
// present rights to the mapping are: mprotect could make it writable.
func mappedInodes(process string, inodes map[uint64]bool) error {
	b, err := ReadFile(process + "/maps")
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
