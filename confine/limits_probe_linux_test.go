package confine

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What the tests of limits try from inside a jail.

func probeAllocateMemfd(a []string) error {
	fd, err := unix.MemfdCreate("hoard", unix.MFD_CLOEXEC)
	if err != nil {
		return err
	}
	if err := writeMB(fd, number(a[0])); err != nil {
		return err
	}
	time.Sleep(20 * time.Second)
	return nil
}

// probeAllocateSysV fills segments of at most 16 MB and lets go of them.
func probeAllocateSysV(a []string) error {
	const size = 16 << 20
	for range number(a[0])<<20/size + 1 {
		id, err := unix.SysvShmGet(unix.IPC_PRIVATE, size, unix.IPC_CREAT|0o600)
		if err != nil {
			return err
		}
		b, err := unix.SysvShmAttach(id, 0, 0)
		if err != nil {
			return err
		}
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		if err := unix.SysvShmDetach(b); err != nil {
			return err
		}
	}
	time.Sleep(20 * time.Second)
	return nil
}

// probeAllocatePageTables reads one byte in each of so many tables: the page is
// the same zeros everywhere, the tables are not.
func probeAllocatePageTables(a []string) error {
	const span = 2 << 20
	n := number(a[0])
	for begin := 0; begin < n; begin += 1000 {
		b, err := unix.Mmap(-1, 0, 1000*span, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
		if err != nil {
			return err
		}
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

// probeFillBoth fills the two filesystems of the jail as far as they let it.
func probeFillBoth(a []string) error {
	for _, dir := range []string{"/tmp", "/dev/shm"} {
		if err := fillOwn(dir, number(a[0])); err != nil && err != unix.ENOSPC {
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

// probeSlowInit tries to have the init's threads run only when nothing else does,
// in every way there is, and says which numbers it found them under.
func probeSlowInit([]string) (string, error) {
	names, err := os.ReadDir("/proc/1/task")
	if err != nil || len(names) < 2 {
		return "", errors.Join(err, unix.ENOENT)
	}
	var done []string
	for _, name := range names {
		tid, _ := strconv.Atoi(name.Name())
		param := int32(0)
		attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}
		one := unix.CPUSet{}
		one.Set(0)
		_, _, scheduler := unix.RawSyscall(unix.SYS_SCHED_SETSCHEDULER, uintptr(tid), unix.SCHED_IDLE, uintptr(unsafe.Pointer(&param)))
		_, _, params := unix.RawSyscall(unix.SYS_SCHED_SETPARAM, uintptr(tid), uintptr(unsafe.Pointer(&param)), 0)
		for what, err := range map[string]error{
			"scheduler": scheduler, "param": params, "attr": unix.SchedSetAttr(tid, &attr, 0),
			"affinity": unix.SchedSetaffinity(tid, &one), "priority": unix.Setpriority(unix.PRIO_PROCESS, tid, 19),
		} {
			if err != unix.EPERM {
				done = append(done, fmt.Sprintf("%s of %d: %v", what, tid, err))
			}
		}
	}
	// The control: what a program does to itself, by number and without one.
	for _, tid := range []int{0, unix.Gettid()} {
		attr, err := unix.SchedGetAttr(tid, 0)
		if err == nil {
			err = unix.SchedSetAttr(tid, attr, 0)
		}
		if err != nil {
			done = append(done, fmt.Sprintf("own thread %d: %v", tid, err))
		}
	}
	return strings.Join(done, ", "), nil
}
