package sandboxexec

import (
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// kernelTable asks macOS: a kqueue tells of events, and kern.proc.uid shows the processes.
type kernelTable struct{ queue int }

func openTable() (table, error) {
	queue, err := unix.Kqueue()
	if err != nil {
		return nil, err
	}
	unix.CloseOnExec(queue)
	return &kernelTable{queue}, nil
}

const stateZombie = 5 // SZOMB of sys/proc.h

func (*kernelTable) processes() ([]process, error) {
	list, err := unix.SysctlKinfoProcSlice("kern.proc.uid", os.Getuid())
	if err != nil {
		return nil, err
	}
	all := make([]process, 0, len(list))
	for i := range list {
		p := &list[i]
		if p.Proc.P_stat == stateZombie {
			continue
		}
		all = append(all, process{pid: int(p.Proc.P_pid), parent: int(p.Eproc.Ppid), start: p.Proc.P_starttime.Nano()})
	}
	return all, nil
}

func (*kernelTable) session(pid int) int {
	sid, err := unix.Getsid(pid)
	if err != nil {
		return 0
	}
	return sid
}

// follow asks for the events of a process. NOTE_TRACK, which would follow its children too, does
// not work on macOS: a fork makes the family look again.
func (t *kernelTable) follow(pid int) {
	var e unix.Kevent_t
	unix.SetKevent(&e, pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_CLEAR)
	e.Fflags = unix.NOTE_FORK | unix.NOTE_EXEC | unix.NOTE_EXIT
	unix.Kevent(t.queue, []unix.Kevent_t{e}, nil, nil) // of one that has ended: no events
}

func (t *kernelTable) wait(d time.Duration) {
	timeout := unix.NsecToTimespec(d.Nanoseconds())
	unix.Kevent(t.queue, nil, make([]unix.Kevent_t, 16), &timeout)
}

// taskInfo is struct proc_taskinfo of sys/proc_info.h.
type taskInfo struct {
	virtual, resident uint64
	times             [4]uint64
	counts            [12]int32
}

const (
	callPIDInfo  = 2 // PROC_INFO_CALL_PIDINFO
	flavTaskInfo = 4 // PROC_PIDTASKINFO
)

// resident asks by the system call proc_info, for which package unix has no function.
func (*kernelTable) resident(pid int) (int64, bool) {
	var info taskInfo
	n, _, errno := syscall.RawSyscall6(syscall.SYS_PROC_INFO, callPIDInfo, uintptr(pid), flavTaskInfo, 0, uintptr(unsafe.Pointer(&info)), unsafe.Sizeof(info))
	if errno != 0 || n != unsafe.Sizeof(info) {
		return 0, false
	}
	return int64(info.resident), true
}

func (*kernelTable) name(pid int) string {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return ""
	}
	return unix.ByteSliceToString(p.Proc.P_comm[:])
}

func (*kernelTable) signal(pid int, sig unix.Signal) { unix.Kill(pid, sig) }

func (t *kernelTable) close() { unix.Close(t.queue) }

// followOrphans does nothing: macOS gives orphans to launchd.
func followOrphans() {}
