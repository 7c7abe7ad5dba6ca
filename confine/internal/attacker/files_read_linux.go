package attacker

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func attemptWatch(a []string) error {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.InotifyAddWatch(fd, a[0], unix.IN_ALL_EVENTS)
	return err
}

func attemptDnotify(a []string) error {
	return onFD(a[0], func(fd int) error {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_NOTIFY, dnModify|dnMultishot)
		return err
	})
}

func attemptReadDotdot(a []string) (string, error) {
	dir := get(unix.Open(a[0], unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0))
	defer unix.Close(dir)
	fd := get(unix.Openat(dir, a[1], unix.O_RDONLY|unix.O_CLOEXEC, 0))
	return readAndClose(fd)
}

func readAndClose(fd int) (string, error) {
	defer unix.Close(fd)
	b := make([]byte, 4096)
	n, err := unix.Read(fd, b)
	if err != nil {
		return "", err
	}
	return string(b[:n]), nothingIf(n == 0)
}

func attemptReadOpath(a []string) (string, error) {
	fd := get(unix.Open(a[0], unix.O_PATH|unix.O_CLOEXEC, 0))
	defer unix.Close(fd)
	again := get(unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_RDONLY|unix.O_CLOEXEC, 0))
	return readAndClose(again)
}

func attemptReadMapped(a []string) (string, error) {
	fd := get(unix.Open(a[0], unix.O_RDONLY|unix.O_CLOEXEC, 0))
	defer unix.Close(fd)
	var st unix.Stat_t
	must(unix.Fstat(fd, &st))
	b, err := unix.Mmap(fd, 0, 1, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil || st.Size == 0 {
		return "", errors.Join(err, nothingIf(st.Size == 0))
	}
	return string(b[:1]), nil
}

// attemptReadFrom reads a file relative to another working directory or root.
func attemptReadFrom(a []string) (string, error) {
	must(unix.Chdir(a[0]))
	b, err := os.ReadFile(a[1])
	return string(b), err
}

// attemptLinked makes a link a[1] to a[0] and reads through it.
func attemptLinked(link func(from, to string) error) func([]string) (string, error) {
	return func(a []string) (string, error) {
		if err := link(a[0], a[1]); err != nil {
			return "", err
		}
		defer unix.Unlink(a[1])
		b, err := os.ReadFile(a[1])
		return string(b), err
	}
}

// attemptReadSwapped swaps a directory a[0] of its own and a symlink to a[1] while it reads a[2]
// below it.
func attemptReadSwapped(a []string) (string, error) {
	must(os.MkdirAll(a[0], 0o755))
	stop := time.Now().Add(300 * time.Millisecond)
	go func() {
		for time.Now().Before(stop) {
			os.Rename(a[0], a[0]+".dir")
			os.Symlink(a[1], a[0])
			os.Remove(a[0])
			os.Rename(a[0]+".dir", a[0])
		}
	}()
	var last error
	for time.Now().Before(stop) {
		b, err := os.ReadFile(filepath.Join(a[0], a[2]))
		if err == nil {
			return string(b), nil
		}
		if errors.Is(err, unix.EACCES) || last == nil {
			last = err // the most telling: ENOENT is also what the real directory says
		}
	}
	return "", last
}

// attemptReadMoved keeps a descriptor of the directory a[0] while stage.mover of package attacks
// moves it out of the grant on the host. It then goes up from there.
func attemptReadMoved(a []string) (string, error) {
	dir := get(unix.Open(a[0], unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0))
	defer unix.Close(dir)
	must(os.WriteFile(filepath.Join(a[0], "ready"), nil, 0o644))
	for range 1000 {
		if _, err := os.Stat(a[0]); errors.Is(err, unix.ENOENT) {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	fd := get(unix.Openat(dir, "../secret", unix.O_RDONLY|unix.O_CLOEXEC, 0))
	return readAndClose(fd)
}

// attemptReadHandle opens a file by its handle, TYPE:HEX, through the mount of a[0].
// A handle is an inode number, which can be guessed.
func attemptReadHandle(a []string) (string, error) {
	mount := get(unix.Open(a[0], unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0))
	defer unix.Close(mount)
	kind, text, _ := strings.Cut(a[1], ":")
	b := get(hex.DecodeString(text))
	fd := get(unix.OpenByHandleAt(mount, unix.NewFileHandle(int32(Number(kind)), b), unix.O_RDONLY|unix.O_CLOEXEC))
	return readAndClose(fd)
}

func attemptReadUring(a []string) (string, error) {
	type params struct {
		sqEntries, cqEntries, flags, cpu, idle, features, wq uint32
		resv                                                 [3]uint32
		sq                                                   struct {
			head, tail, mask, entries, flags, dropped, array, resv uint32
			addr                                                   uint64
		}
		cq struct {
			head, tail, mask, entries, overflow, cqes, flags, resv uint32
			addr                                                   uint64
		}
	}
	var p params
	r, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&p)), 0)
	if errno != 0 {
		return "", errno
	}
	ring := int(r)
	defer unix.Close(ring)
	sq := get(unix.Mmap(ring, 0, int(p.sq.array+p.sqEntries*4), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED))
	cq := get(unix.Mmap(ring, 0x8000000, int(p.cq.cqes+p.cqEntries*16), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED))
	sqes := get(unix.Mmap(ring, 0x10000000, int(p.sqEntries*64), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED))
	name, _ := unix.BytePtrFromString(a[0])
	const opOpenat = 18
	sqes[0] = opOpenat
	fdcwd := int32(unix.AT_FDCWD)
	*(*int32)(unsafe.Pointer(&sqes[4])) = fdcwd
	*(*uint64)(unsafe.Pointer(&sqes[16])) = uint64(uintptr(unsafe.Pointer(name)))
	*(*uint32)(unsafe.Pointer(&sq[p.sq.array])) = 0
	*(*uint32)(unsafe.Pointer(&sq[p.sq.tail]))++
	if _, _, errno := unix.Syscall6(unix.SYS_IO_URING_ENTER, uintptr(ring), 1, 1, 1, 0, 0); errno != 0 {
		return "", errno
	}
	runtime.KeepAlive(name)
	res := *(*int32)(unsafe.Pointer(&cq[p.cq.cqes+8]))
	if res < 0 {
		return "", syscall.Errno(-res)
	}
	return readAndClose(int(res))
}
