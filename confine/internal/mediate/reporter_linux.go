package mediate

import (
	"os"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Reporter reports refusals to the launcher, each before its call is answered. So the launcher
// knows of a refusal before it sees an error message of the server. It counts repeats in a
// window. A timer flushes the window when a count is due.
type Reporter struct {
	Say           func(spec.Event)
	Self          int  // the thread of the self-test, whose refusals are not reported
	ResolvesHosts bool // not to report /etc/hosts, which every resolver tries and can do without

	mu       sync.Mutex // guards the fields below, and the order of the events
	window   window
	began    time.Time // start of the window
	timerSet bool      // a timer will call Flush
}

// Refused reports the refusal of an operation on a path.
func (l *Reporter) Refused(r *Request, operation, target string) {
	l.Report(r, policy.AxisFs, operation, target, false)
}

// isAbsent reports a name that does not exist in the jail, and perhaps on the host.
func (l *Reporter) isAbsent(r *Request, target string) {
	l.Report(r, policy.AxisFs, operationName(r.Op), target, true)
}

// operationName returns the name that events use for the operation of a call.
func operationName(op seccomp.Op) string {
	switch op {
	case seccomp.OpMkdir:
		return policy.OpMkdir.String()
	case seccomp.OpRemove:
		return policy.OpRemove.String()
	case seccomp.OpRename:
		return "rename"
	case seccomp.OpTruncate:
		return policy.OpTruncate.String()
	}
	return policy.OpCreate.String()
}

// Report reports a refusal. absent marks a target that the jail does not have. It leaves out
// what no policy grants, and what the C library tries and can do without.
func (l *Reporter) Report(r *Request, axis policy.Axis, operation, target string, absent bool) {
	if int(r.N.Tid) == l.Self {
		return
	}
	if axis == policy.AxisIPC && target == "/var/run/nscd/socket" {
		return // the C library tries nscd first, and can do without
	}
	if l.ResolvesHosts && target == "/etc/hosts" && operation == policy.OpRead.String() {
		return
	}
	for _, own := range []string{"/proc", "/dev", "/sys"} {
		if axis == policy.AxisFs && policy.Within(target, own) {
			return // no policy grants these
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.began) >= spec.Window {
		l.nextWindow()
	}
	as, tell, held := l.window.count(spec.Refusal{Axis: axis, Operation: operation, Target: clip(target), Absent: absent})
	if !tell {
		return
	}
	if held && !l.timerSet {
		l.timerSet = true
		time.AfterFunc(spec.Window, l.Flush)
	}
	m := as.Event(1)
	m.Held = held
	sys.OnUnrestrictedThread(func() {
		m.Pid = proc.NSPid(int(r.N.Tid))
		m.Program, _ = os.Readlink(proc.ThreadFile(int(r.N.Tid), "exe"))
	})
	l.Say(m)
}

// nextWindow reports the counts of the window and begins a new one. Report calls it too when
// the timer is late, because the launcher relies on spec.Window for announced refusals.
func (l *Reporter) nextWindow() {
	for _, m := range l.window.flush() {
		l.Say(m)
	}
	l.window, l.began = window{}, time.Now()
}

// Flush ends the window and reports its counts.
func (l *Reporter) Flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timerSet = false
	l.nextWindow()
}

func clip(s string) string { return s[:min(len(s), 4096)] }
