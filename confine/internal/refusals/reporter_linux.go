// Package refusals reports to the launcher what was refused to a server, each refusal before its call is
// answered. So the launcher knows of a refusal before it sees an error message of the server. It counts
// repeats in a window. A timer flushes the window when a count is due.
//
// Package mediator reports, and package supervisor flushes at the end of the server: begin at
// Reporter.Report. It reads the names of programs in /proc, and decides nothing.
package refusals

import (
	"os"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Reporter reports the refusals of one jail.
type Reporter struct {
	Say           func(spec.Event)
	Self          int  // the thread of the self-test, whose refusals are not reported
	ResolvesHosts bool // reads of /etc/hosts are not reported: a resolver can do without it

	mu       sync.Mutex // guards the fields below, and the order of the events
	window   window
	began    time.Time // start of the window
	timerSet bool      // a timer will call Flush
}

// Tell sends an event in its place among the others.
func (r *Reporter) Tell(m spec.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Say(m)
}

// Refused reports the refusal of an operation on a path.
func (r *Reporter) Refused(n *seccomp.Notification, operation, target string) {
	r.Report(n, policy.AxisFs, operation, target, false)
}

// Report reports a refusal. absent marks a target that the jail does not have. Report leaves out
// paths that no policy grants, and files that the C library tries and can do without.
func (r *Reporter) Report(n *seccomp.Notification, axis policy.Axis, operation, target string, absent bool) {
	if int(n.Tid) == r.Self {
		return
	}
	if axis == policy.AxisIPC && target == "/var/run/nscd/socket" {
		return // the C library tries nscd first, and can do without
	}
	if r.ResolvesHosts && target == "/etc/hosts" && operation == policy.OpRead.String() {
		return
	}
	for _, own := range []string{"/proc", "/dev", "/sys"} {
		if axis == policy.AxisFs && policy.Within(target, own) {
			return // no policy grants these
		}
	}
	r.count(spec.Refusal{Axis: axis, Operation: operation, Target: clip(target), Absent: absent}, func() (pid int, program string) {
		program, _ = os.Readlink(sys.ThreadFile(int(n.Tid), "exe"))
		return int(n.Tid), program
	})
}

// RefusedStart reports a program whose arguments no rule allows. The process has become that
// program already, so the report names the program of its parent.
func (r *Reporter) RefusedStart(pid int, target string, argv []string) {
	s := spec.Refusal{Axis: policy.AxisProcess, Operation: "exec", Target: clip(target), Arguments: spec.UnknownArguments}
	if argv != nil {
		s.Arguments = spec.JoinArguments(argv)
	}
	r.count(s, func() (int, string) {
		program, _ := os.Readlink(sys.ThreadFile(sys.Parent(pid), "exe"))
		return pid, program
	})
}

// count counts a refusal, and reports it now or at the end of the window. by returns the thread
// whose call was refused, and the program that made the attempt.
func (r *Reporter) count(s spec.Refusal, by func() (tid int, program string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.began) >= spec.Window {
		r.nextWindow()
	}
	as, tell, held := r.window.count(s)
	if !tell {
		return
	}
	if held && !r.timerSet {
		r.timerSet = true
		time.AfterFunc(spec.Window, r.Flush)
	}
	m := as.Event(1)
	m.Held = held
	sys.OnUnrestrictedThread(func() {
		tid, program := by()
		m.Pid, m.Program = sys.NSPid(tid), program
	})
	r.Say(m)
}

// nextWindow reports the counts of the window and begins a new one. count calls it too when
// the timer is late, because the launcher relies on spec.Window for announced refusals.
func (r *Reporter) nextWindow() {
	for _, m := range r.window.flush() {
		r.Say(m)
	}
	r.window, r.began = window{}, time.Now()
}

// Flush ends the window and reports its counts.
func (r *Reporter) Flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.timerSet = false
	r.nextWindow()
}

func clip(s string) string { return s[:min(len(s), 4096)] }
