package mediate

import (
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy"
)

// judge decides by the profile, and reports what it refuses. It does not change after New.
type judge struct {
	profile  *policy.Profile
	hostNS   bool // there are no mounts, which would enforce a narrower rule inside a grant
	reporter *Reporter
}

// decideName decides about one name, and returns the path that it decided about. Like the kernel,
// it reports a missing or an existing name before it refuses.
func (j *judge) decideName(r *Request, op policy.Op, at *pathRef) (full string, errno syscall.Errno) {
	if at.special() {
		return "", 0
	}
	if full, errno = at.full(); errno != 0 {
		return "", errno
	}
	verdict := j.profile.Mediate(op, full)
	switch {
	case verdict == policy.Granted:
		return full, 0
	case op != policy.OpRemove && exists(at):
		return full, unix.EEXIST
	case op == policy.OpRemove && !exists(at):
		return full, unix.ENOENT
	}
	return full, j.verdict(r, op.String(), full, at, verdict)
}

// verdict returns the errno for a verdict, and reports a refusal. The errno is the one that a
// mount would give: EROFS below a read-only mount, EBUSY for a mount point, EXDEV between two mounts, else EACCES.
func (j *judge) verdict(r *Request, operation, full string, at *pathRef, verdict policy.Verdict) syscall.Errno {
	errno := unix.EACCES
	switch {
	case verdict == policy.Granted:
		return 0
	case verdict == policy.Crossing:
		return unix.EXDEV
	case readOnly(at.dir):
		errno = unix.EROFS
	case verdict == policy.Pinned:
		errno = unix.EBUSY
	}
	j.reporter.Refused(r, operation, full)
	return errno
}

func readOnly(fd int) bool {
	var fs unix.Statfs_t
	return unix.Fstatfs(fd, &fs) == nil && fs.Flags&unix.ST_RDONLY != 0
}

// recordRefusal reports a refusal of the kernel that the profile explains, and returns errno.
func (j *judge) recordRefusal(r *Request, op policy.Op, full string, errno syscall.Errno) syscall.Errno {
	if op == policy.OpSymlink {
		op = policy.OpCreate
	}
	if (errno == unix.EACCES || errno == unix.EPERM || errno == unix.EROFS) && !j.profile.Allows(op, full) {
		j.reporter.Refused(r, op.String(), full)
	}
	return errno
}

// recordRefusalAt is recordRefusal for a reference, whose directory may have moved meanwhile.
func (j *judge) recordRefusalAt(r *Request, op policy.Op, at *pathRef, errno syscall.Errno) syscall.Errno {
	if errno == 0 {
		return 0
	}
	if full, e := at.recorded(); e == 0 {
		return j.recordRefusal(r, op, full, errno)
	}
	return errno
}

// recordLost reports the path that a name leads to if the jail does not have it, and returns errno.
// The launcher then looks whether it exists on the host, and so was not granted.
func (j *judge) recordLost(r *Request, operation string, base int, name string, errno syscall.Errno) syscall.Errno {
	if errno != unix.ENOENT {
		return errno
	}
	full := lost(base, name, errno)
	e, covered := j.profile.Find(full)
	if full != "" && (!covered || e.Origin == policy.OriginHome) { // what the private HOME lacks, the user's own may have
		j.reporter.report(r, policy.AxisFs, operation, full, true)
	}
	return errno
}

// opOf returns the operation of a call that changes something at a name.
func opOf(op seccomp.Op) policy.Op {
	switch op {
	case seccomp.OpMkdir:
		return policy.OpMkdir
	case seccomp.OpSymlink:
		return policy.OpSymlink
	case seccomp.OpRemove:
		return policy.OpRemove
	case seccomp.OpTruncate:
		return policy.OpTruncate
	}
	return policy.OpCreate
}

// recordMissing is recordLost for one of the names of a call.
func (j *judge) recordMissing(r *Request, name int, errno syscall.Errno) syscall.Errno {
	operation := opOf(r.Op).String()
	switch {
	case r.Op == seccomp.OpRename:
		operation = "rename"
	case r.Op == seccomp.OpLink && name == 0:
		operation = policy.OpRead.String() // the file that gets one more name
	}
	return j.recordLost(r, operation, r.bases[name], r.names[name], errno)
}

// mayRead decides about reading in the host's namespaces. There Landlock grants reading below
// a granted directory, and no mount hides an entry that takes the right away.
func (j *judge) mayRead(r *Request, full string, flags int) syscall.Errno {
	if !j.hostNS || flags&seccomp.OAccMode == unix.O_WRONLY || j.profile.Mediate(policy.OpRead, full) == policy.Granted {
		return 0
	}
	j.reporter.Refused(r, policy.OpRead.String(), full)
	return unix.EACCES
}

// undoIfMoved removes a new name when another jail moved its directory after the verdict to
// a path where the name must not exist.
func (j *judge) undoIfMoved(r *Request, op policy.Op, at *pathRef, judged string) syscall.Errno {
	full, errno := at.full()
	if errno == 0 && (full == judged || j.profile.Mediate(op, full) == policy.Granted) {
		return 0
	}
	flags := 0
	if op == policy.OpMkdir {
		flags = unix.AT_REMOVEDIR
	}
	unix.Unlinkat(at.dir, at.name, flags)
	j.reporter.Refused(r, op.String(), full)
	return unix.EACCES
}

func exists(at *pathRef) bool {
	var st unix.Stat_t
	return unix.Fstatat(at.dir, at.name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
}

// Reporter reports refusals to the launcher, each before its call is answered. So the launcher
// knows of a refusal before it sees an error message of the server. It counts repeats in a
// window. A timer flushes the window when a count is due.
type Reporter struct {
	Say           func(spec.Event)
	Self          int  // the thread of the self-test, whose refusals are not reported
	ResolvesHosts bool // reads of /etc/hosts are not reported: a resolver can do without it

	mu       sync.Mutex // guards the fields below, and the order of the events
	window   window
	began    time.Time // start of the window
	timerSet bool      // a timer will call Flush
}

// tell sends an event in its place among the others.
func (r *Reporter) tell(m spec.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Say(m)
}

// Refused reports the refusal of an operation on a path.
func (r *Reporter) Refused(req *Request, operation, target string) {
	r.report(req, policy.AxisFs, operation, target, false)
}

// report reports a refusal. absent marks a target that the jail does not have. Report leaves out
// paths that no policy grants, and files that the C library tries and can do without.
func (r *Reporter) report(req *Request, axis policy.Axis, operation, target string, absent bool) {
	if int(req.N.Tid) == r.Self {
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
		program, _ = os.Readlink(sys.ThreadFile(int(req.N.Tid), "exe"))
		return int(req.N.Tid), program
	})
}

// refusedStart reports a program whose arguments no rule allows. The process has become that
// program already, so the report names the program of its parent.
func (r *Reporter) refusedStart(pid int, target string, argv []string) {
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
