package proc

import (
	"bytes"
	"strconv"

	"golang.org/x/sys/unix"
)

// procDir is where the files of proc are that show this process and the jail's, and procAt
// what a name in there begins at. The supervisor of a jail with namespaces has a proc of its
// own, for that of the jail does not show it: it is the working directory of all but its
// workers, who go elsewhere.
var ProcDir, ProcAt = "/proc", unix.AT_FDCWD

// ofThread names what proc knows of a thread, by its number for this process.
func OfThread(tid int, name string) string {
	return ProcDir + "/" + strconv.Itoa(tid) + "/" + name
}

// ofDescriptor names what a descriptor of this process leads to.
func OfDescriptor(fd int) string { return ProcDir + "/self/fd/" + strconv.Itoa(fd) }

// readThread reads the beginning of such a file.
func ReadThread(tid int, name string, b []byte) ([]byte, error) {
	fd, err := unix.Openat(ProcAt, OfThread(tid, name), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	n, err := unix.Read(fd, b)
	return b[:max(n, 0)], err
}

// innerNumber is the number of a thread for the jail: the last of proc_pid_status(5) NSpid.
func InnerNumber(tid int) int {
	b, _ := ReadThread(tid, "status", make([]byte, StatusSize))
	if n := lastNumber(b, "NSpid:"); n > 0 {
		return n
	}
	return 0
}

// statusSize is enough for what is looked for in a status, also of one that has many groups.
const StatusSize = 4096

// lastNumber is the last one of a line; -1 where there is none.
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
