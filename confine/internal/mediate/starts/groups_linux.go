package starts

import (
	"os"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"golang.org/x/sys/unix"
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
	tgid := proc.ThreadGroup(int(n.Tid))
	if !t.o.Listener.Valid(n.Id) {
		return // the caller has ended, and tgid may be of another thread
	}
	switch g := t.groups[tgid]; {
	case tgid == 0:
		t.refuse(n)
	case g == nil:
		t.letContinue(tgid, n)
	case t.waiting >= maxHeld:
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
		if other := proc.ThreadGroup(tid); err == nil && other != 0 {
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
	exe, _ := os.Readlink(proc.ThreadFile(int(n.Tid), "exe"))
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
		if (tgid == pid || g.tid == pid) && !(proc.ThreadGroup(g.tid) == tgid && t.traces(g.tid)) {
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
