package tracer

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
)

// This file lets the held execves of a process continue one after the other. When a thread
// executes a program, it takes the number of the thread that leads its process. So if the leader
// were traced then, a stop of the leader that is still queued would be taken for a stop of the
// new program, and the new program would be let go unjudged. Therefore a process has one traced
// thread at most while an execve of it runs, and the next one is traced when that thread has been
// let go, or has ended. The kernel runs the execves of a process one after the other too
// (cred_guard_mutex).

// group is a process with a traced thread.
type group struct {
	tid     int                    // of that thread, when it was traced
	waiting []seccomp.Notification // execves of other threads
}

func (t *Tracer) begin(n *seccomp.Notification) {
	tgid := sys.ThreadGroup(int(n.Tid))
	if !t.o.Listener.Valid(n.Id) {
		return // the caller has ended, and tgid may be of another thread
	}
	switch g := t.groups[tgid]; {
	case tgid == 0:
		t.refuse(n)
	case g == nil:
		t.letContinue(tgid, n)
	case t.waiting >= maxHeldStarts:
		t.o.Listener.Respond(n.Id, unix.EAGAIN)
	default:
		t.waiting++
		g.waiting = append(g.waiting, *n)
	}
}

// letContinue traces the caller of a held execve, and lets the call continue. When it is called,
// no thread of the process tgid is traced. If the call fails, the thread stops before the call
// returns (PTRACE_INTERRUPT). The interrupt does not disturb the caller's wait for the answer
// (SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV).
func (t *Tracer) letContinue(tgid int, n *seccomp.Notification) {
	tid := int(n.Tid)
	err := seize(tid)
	if !t.o.Listener.Valid(n.Id) {
		// The caller has ended. Another thread may have its number: it stops, and is let go.
		if other := sys.ThreadGroup(tid); err == nil && other != 0 {
			if t.groups[other] == nil { // else tid is younger than the process, so it does not lead it
				t.groups[other] = &group{tid: tid}
			}
			interrupt(tid)
		}
		return
	}
	if err != nil && !(err == unix.EPERM && t.traces(tid)) {
		t.refuse(n)
		return
	}
	t.groups[tgid] = &group{tid: tid}
	interrupt(tid)
	t.o.Listener.Continue(n.Id)
}

func (t *Tracer) refuse(n *seccomp.Notification) {
	exe, _ := os.Readlink(sys.ThreadFile(int(n.Tid), "exe"))
	t.o.Report(int(n.Tid), exe, nil)
	t.o.Listener.Respond(n.Id, unix.EACCES)
}

// settle notes that a process has no traced thread any more, and lets its next execve continue.
func (t *Tracer) settle(tgid int) {
	g := t.groups[tgid]
	delete(t.groups, tgid)
	for i := range g.waiting {
		if next := t.groups[tgid]; next != nil {
			next.waiting = append(next.waiting, g.waiting[i:]...)
			return
		}
		t.waiting--
		if n := &g.waiting[i]; t.o.Listener.Valid(n.Id) {
			t.letContinue(tgid, n)
		}
	}
}

func (t *Tracer) released(tid int) {
	for tgid, g := range t.groups {
		if g.tid == tid {
			t.settle(tgid)
			return
		}
	}
}

// ended notes the end of a thread, or of a whole process. By now another thread can have its
// number, and be traced.
func (t *Tracer) ended(pid int) {
	var over []int
	for tgid, g := range t.groups {
		if (tgid == pid || g.tid == pid) && !(sys.ThreadGroup(g.tid) == tgid && t.traces(g.tid)) {
			over = append(over, tgid)
		}
	}
	for _, tgid := range over {
		t.settle(tgid)
	}
}

// stopped handles a stop of a traced thread. The stop at the end of an execve is judged. At any
// other stop the thread is in no execve, and is let go. stopped asks the kernel where the thread
// is now, so that no other stop can be mistaken for the stop at the end of an execve.
func (t *Tracer) stopped(pid int, ws syscall.WaitStatus) {
	exec, err := stopsAtExec(pid)
	switch {
	case err == unix.ESRCH: // it was killed: its end follows
	case exec:
		t.judge(pid)
		if t.groups[pid] != nil {
			t.settle(pid)
		}
	case ws.StopSignal() == unix.SIGTRAP && ws.TrapCause() == unix.PTRACE_EVENT_EXEC: // judged already
	case ws>>16 == unix.PTRACE_EVENT_STOP:
		detach(pid, 0) // the kernel resumes a stop by job control
		t.released(pid)
	default:
		detach(pid, ws.StopSignal())
		t.released(pid)
	}
}

// This file makes the calls of ptrace(2). All of them but seize and interrupt need a thread that
// has stopped, and return ESRCH if it was killed meanwhile.

func ptrace(request, pid int, addr, data uintptr) error {
	if _, _, errno := unix.Syscall6(unix.SYS_PTRACE, uintptr(request), uintptr(pid), addr, data, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// seize traces a thread: it will stop at the end of an execve, and be killed if this thread ends.
// It does not stop now.
func seize(tid int) error {
	return ptrace(unix.PTRACE_SEIZE, tid, 0, unix.PTRACE_O_TRACEEXEC|unix.PTRACE_O_EXITKILL)
}

func interrupt(tid int) { ptrace(unix.PTRACE_INTERRUPT, tid, 0, 0) }

// detach lets a thread go, and delivers a signal that it stopped for, or 0 for none.
func detach(pid int, signal syscall.Signal) {
	ptrace(unix.PTRACE_DETACH, pid, 0, uintptr(signal))
}

func stopsAtExec(pid int) (bool, error) {
	var info struct { // siginfo_t
		signo, errno, code int32
		rest               [116]byte
	}
	err := ptrace(unix.PTRACE_GETSIGINFO, pid, 0, uintptr(unsafe.Pointer(&info)))
	runtime.KeepAlive(&info)
	return err == nil && info.code == int32(unix.SIGTRAP)|unix.PTRACE_EVENT_EXEC<<8, err
}

// prStatus is NT_PRSTATUS of linux/elf.h.
const prStatus = 1

// registers returns the registers of a thread. A program with registers of another size, a
// 32-bit one, is an error: the jail's filter refuses all of its calls anyway.
func registers(pid int) ([]byte, error) {
	b := make([]byte, registersSize+word) // one word more, to notice a larger set
	iov := unix.Iovec{Base: &b[0]}
	iov.SetLen(len(b))
	err := ptrace(unix.PTRACE_GETREGSET, pid, prStatus, uintptr(unsafe.Pointer(&iov)))
	runtime.KeepAlive(b)
	if err == nil && iov.Len != registersSize {
		err = errImage
	}
	return b[:registersSize], err
}

func setRegisters(pid int, b []byte) error {
	iov := unix.Iovec{Base: &b[0]}
	iov.SetLen(len(b))
	err := ptrace(unix.PTRACE_SETREGSET, pid, prStatus, uintptr(unsafe.Pointer(&iov)))
	runtime.KeepAlive(b)
	return err
}

// readMemory reads the memory of a process, and stops where no memory is mapped.
func readMemory(pid int, addr uint64, into []byte) (int, error) {
	n, errno := sys.ReadMemory(pid, addr, into)
	if errno != 0 {
		return 0, errno
	}
	return n, nil
}

func writeMemory(pid int, addr uint64, b []byte) (int, error) {
	local := []unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(len(b))
	return unix.ProcessVMWritev(pid, local, []unix.RemoteIovec{{Base: uintptr(addr), Len: len(b)}}, 0)
}
